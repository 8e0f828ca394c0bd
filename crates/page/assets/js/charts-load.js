// Charts over the rows of a comparison: differences, named statistics, percentiles.
const VERDICTS = { worse: ["var(--worse)", "triangle-down", "worse"], better: ["var(--better)", "triangle-up", "better"],
  same: ["var(--muted)", "circle", "no difference shown"], identical: ["var(--muted)", "square", "identical"],
  untested: ["var(--fg)", "diamond", "one run per side: not tested"],
  undecided: ["var(--fg)", "cross", "does not hold with other constants"], "": ["var(--fg)", "circle", ""] };

// A line for each row, by benchmark and load: the difference with its interval on the noise that it has to exceed.
charts.differences = (figure, rows) => {
  const title = (name) => figure.columns.find((column) => column.name === name).title;
  const [base, other] = [title("base"), title("with")];
  const pct = (value) => `${signed(value, 2)} %`;
  const interval = (row) => (row.better_low_pct === null ? "" : `[${signed(row.better_low_pct, 2)}, ${signed(row.better_high_pct, 2)}]`);
  if (rows.length === 1 && rows[0].better_low_pct === null) {
    const [row] = rows;
    const told = [[`${row.metric}: ${other} is better by`, pct(row.better_pct), sideColor(other)]];
    if (row.noise_pct !== null) told.push(["noise limit", `\u00b1${fixed(row.noise_pct, 1)} %`]);
    if (row.published_pct !== null) told.push(["published", pct(row.published_pct)]);
    return { legend: [], panels: [{ numbers: told }] };
  }
  const metrics = different(rows, "metric");
  const [single, loads] = [metrics.length === rows.length, different(rows, "load")];
  const lines = [];
  metrics.forEach((metric, m) => {
    const mine = rows.filter((row) => row.metric === metric);
    if (metrics.length > 1 && !single) lines.push({ id: `head ${m}`, head: metric });
    mine.forEach((row, i) => {
      const words = single && metrics.length > 1 ? (loads.length > 1 ? `${metric}, ${row.load}` : metric) : row.load;
      lines.push({ ...row, id: `${m} ${i}`, words, low: -row.noise_pct, told: `${pct(row.better_pct)}  ${interval(row)}` });
    });
  });
  const told = lines.filter((line) => !line.head);
  const ends = told.flatMap((line) => [line.better_pct, line.better_low_pct, line.better_high_pct, line.published_pct, line.low, line.noise_pct, 0]).filter(Number.isFinite);
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const room = (most - least) * 0.04 || 1;
  const small = isSmall();
  const words = Object.fromEntries(lines.map((line) => [line.id, line.head ? "" : small ? `${line.words}\n${pct(line.better_pct)}` : line.words]));
  const step = lines.length > 40 ? (small ? 26 : 15) : small ? 34 : 26;
  const tip = tipsOf(told);
  const y = { field: "id", type: "nominal", sort: lines.map((line) => line.id), title: null, scale: { padding: 0 },
    axis: { labelExpr: `split(${JSON.stringify(words)}[datum.value], '\\n')`, labelLineHeight: 14, labelLimit: small ? 130 : 320, labelColor: "var(--fg)",
      labelOverlap: false, ticks: false, domain: false, minExtent: 0, labelBaseline: "middle" } };
  const x = { field: "better_pct", type: "quantitative", scale: { domain: [least - room, most + room], nice: false },
    title: small ? `${other} is better by (%)` : `\u2190 ${base} is better | ${other} is better \u2192 (%)`, axis: { tickCount: small ? 4 : 8, format: ",.2~f" } };
  const scale = (at) => ({ domain: Object.keys(VERDICTS), range: Object.values(VERDICTS).map((one) => one[at]) });
  const color = { field: "verdict", type: "nominal", legend: null, scale: scale(0) };
  const tooltip = known(told, [tip("metric", "Metric", "nominal"), tip("load", "Load", "nominal"), tip("base", axisTitle(base, rows[0].unit)), tip("with", axisTitle(other, rows[0].unit)),
    { ...tip("better_pct", "Better by, %"), format: "+,.2f" }, { ...tip("better_low_pct", "from, %"), format: "+,.2f" }, { ...tip("better_high_pct", "to, %"), format: "+,.2f" },
    tip("noise_pct", "Noise limit, %"), { ...tip("p", "p"), format: ".2f" }, tip("verdict", "Verdict", "nominal"), { ...tip("published_pct", "Published, %"), format: "+,.2f" }]);
  const has = (field) => told.some((line) => line[field] !== null && line[field] !== undefined);
  const layer = [];
  if (has("noise_pct")) layer.push({ data: { values: told }, mark: { type: "rect", fill: "var(--noise)" }, encoding: { y, x: { ...x, field: "low" }, x2: { field: "noise_pct" }, tooltip } });
  layer.push({ data: { values: [{}] }, mark: { type: "rule", color: "var(--fg)", strokeWidth: 1 }, encoding: { x: { datum: 0 } } });
  if (has("better_low_pct")) layer.push({ data: { values: told }, mark: { type: "rule", strokeWidth: 3 }, encoding: { y, x: { ...x, field: "better_low_pct" }, x2: { field: "better_high_pct" }, color, tooltip } });
  if (has("published_pct")) layer.push({ data: { values: told.filter((line) => line.published_pct !== null) }, mark: { type: "point", shape: "diamond", filled: false, color: "var(--published)", size: 80, strokeWidth: 2 },
    encoding: { y, x: { ...x, field: "published_pct" }, tooltip } });
  layer.push({ data: { values: lines }, mark: { type: "point", size: 90, opacity: 1 }, encoding: { y, x, color, shape: { field: "verdict", type: "nominal", legend: null, scale: scale(1) }, tooltip } });
  layer.push({ data: { values: lines.filter((line) => line.head) }, mark: { type: "text", align: "left", fontWeight: "bold", fontSize: 12 }, encoding: { y, x: { value: 2 }, text: { field: "head" } } });
  if (!small) layer.push({ data: { values: told }, mark: { type: "text", align: "left", dx: 10, fontSize: 12 }, encoding: { y, x: { value: "width" }, text: { field: "told" }, color } });
  const met = Object.keys(VERDICTS).filter((verdict) => VERDICTS[verdict][2] && told.some((line) => line.verdict === verdict));
  const side = { worse: `${other} is `, better: `${other} is ` };
  const legend = met.map((verdict) => [`${side[verdict] ?? ""}${VERDICTS[verdict][2]}`, VERDICTS[verdict][0], VERDICTS[verdict][1]]);
  if (has("better_low_pct")) legend.push(["95 % interval", "var(--muted)", "line"]);
  if (has("noise_pct")) legend.push(["below the noise limit", "var(--noise)", "box"]);
  if (has("published_pct")) legend.push(["published", "var(--published)", "diamond"]);
  const about = metrics.length > 1 ? undefined : withUnit(metrics[0], rows[0].unit && `(${rows[0].unit})`);
  return { legend, panels: [{ about, height: lines.length * step + 48, whole: true, right: small ? 0 : has("better_low_pct") ? 190 : 80, spec: { layer } }] };
};

// Lines over the loads of one case with points, intervals, and what was published.
function linesOverLoad(rows, yTitle, unit) {
  const { color, shape } = bySide(rows);
  const x = loadAxis(rows);
  const y = { field: "value", type: "quantitative", title: yTitle, scale: { zero: true }, axis: { format: axisFormat(rows, "value"), tickCount: isSmall() ? 3 : 5 } };
  const tip = tipsOf(rows);
  const tooltip = known(rows, [tip("side", "Side", "nominal"), tip("load", "Load", "nominal"), tip("value", unit ? `Value, ${unit}` : "Value"), tip("low", "from"), tip("high", "to"), tip("source", "From", "nominal")]);
  const mine = { filter: "datum.source !== 'published'" };
  const theirs = { filter: "datum.source === 'published'" };
  const published = [
    { transform: [theirs], mark: { type: "line", strokeDash: [3, 3], strokeWidth: 1.5 }, encoding: { x, y, color } },
    { transform: [theirs], mark: { type: "point", shape: "diamond", filled: true, fill: "var(--bg)", size: 70, strokeWidth: 2, opacity: 1 },
      encoding: { x, y, stroke: color, tooltip } },
  ];
  const own = [
    { transform: [mine], mark: { type: "line" }, encoding: { x, y, color } },
    { transform: [mine, { filter: "isValid(datum.low)" }], mark: { type: "rule", strokeWidth: 1.5 }, encoding: { x, y: { ...y, field: "low" }, y2: { field: "high" }, color } },
    { transform: [mine], mark: { type: "point", opacity: 1, size: 60 }, encoding: { x, y, color, shape, tooltip } },
  ];
  if (rows.every((row) => row.low === null)) own.splice(1, 1);
  return { data: { values: rows }, layer: [...(rows.some((row) => row.source === "published") ? published : []), ...own] };
}

// The values of one load as numbers.
function valuesOf(rows, unit) {
  const decimals = decimalsOf(rows.map((row) => row.value));
  return rows.map((row) => [row.source === "published" ? `${row.side}, published` : row.side, withUnit(fixed(row.value, decimals), unit),
    row.source === "published" ? "var(--published)" : sideColor(row.side)]);
}

charts.statistics = (figure, rows) => {
  const panels = different(rows, "statistic").map((name) => {
    const mine = rows.filter((row) => row.statistic === name);
    const { about, unit } = mine[0];
    if (different(mine, "load").length === 1) return { title: name, about, numbers: valuesOf(mine, unit) };
    return { title: name, about, spec: linesOverLoad(mine, unit || null, unit), height: 190 };
  });
  const drawn = panels.some((panel) => panel.spec);
  const legend = drawn ? sideLegend(rows) : [];
  if (drawn && rows.some((row) => row.source === "published")) legend.push(["published", "var(--muted)", "diamond", [3, 3]]);
  return { legend, columns: panels.length > 4 ? 3 : Math.min(2, panels.length), least: isSmall() ? 150 : 280, panels };
};

// Published and simulated values of rows that have no order among them.
charts.pairs = (figure, rows) => {
  const panels = different(rows, "statistic").map((name) => {
    const mine = rows.filter((row) => row.statistic === name);
    const { about, unit } = mine[0];
    const loads = different(mine, "load");
    if (loads.length === 1) return { title: name, about, numbers: mine.map((row) => [row.source === "published" ? "published" : "simulated", withUnit(fixed(row.value, 2), unit), row.source === "published" ? "var(--published)" : "var(--fg)"]) };
    const pairs = loads.map((load) => {
      const of = (source) => mine.find((row) => row.load === load && (row.source === "published") === source)?.value ?? null;
      return { load, simulated: of(false), published: of(true) };
    });
    const tip = tipsOf(pairs);
    const y = { field: "load", type: "nominal", sort: loads, title: null, axis: { labelLimit: isSmall() ? 110 : 220, labelOverlap: false, ticks: false, domain: false, minExtent: 0 } };
    const x = (field) => ({ field, type: "quantitative", title: axisTitle(name, unit), scale: { zero: true }, axis: { tickCount: 5, format: axisFormat(pairs, "published") } });
    const tooltip = [tip("load", "Row", "nominal"), tip("simulated", `Simulated, ${unit}`), tip("published", `Published, ${unit}`)];
    return { title: name, about, height: loads.length * (loads.length > 40 ? 14 : 20) + 48, whole: true, spec: { data: { values: pairs }, layer: [
      { mark: { type: "rule", color: "var(--muted)", strokeWidth: 1.5 }, encoding: { y, x: x("published"), x2: { field: "simulated" } } },
      { mark: { type: "point", shape: "diamond", filled: false, color: "var(--published)", strokeWidth: 2, opacity: 1 }, encoding: { y, x: x("published"), tooltip } },
      { mark: { type: "point", color: "var(--fg)", opacity: 1 }, encoding: { y, x: x("simulated"), tooltip } },
    ] } };
  });
  const legend = panels.some((panel) => panel.spec) ? [["simulated", "var(--fg)", "circle"], ["published", "var(--published)", "diamond"]] : [];
  return { legend, columns: 2, panels };
};

charts.percentiles = (figure, rows) => {
  const { color, shape } = bySide(rows);
  if (different(rows, "percentile").length === 1) return { legend: [], panels: [{ numbers: rows.map((row) => [`${row.side}, ${row.percentile}`, `${fixed(row.us, 2)} us`, sideColor(row.side)]) }] };
  const x = { field: "percentile", type: "ordinal", sort: different(rows, "percentile"), title: "Percentile of the wake-ups",
    axis: { labelAngle: 0, labelOverlap: true } };
  const y = { field: "us", type: "quantitative", title: "Time from wake-up to run (us)", axis: { format: ".3~s", tickCount: 6 },
    scale: rows.every((row) => row.us > 0) ? { type: "log", nice: true } : { type: "symlog" } };
  const tip = tipsOf(rows);
  const tooltip = [tip("side", "Side", "nominal"), tip("percentile", "Percentile", "nominal"), tip("us", "Time, us")];
  return { legend: sideLegend(rows), panels: [{ height: 280, spec: { data: { values: rows }, layer: [
    { mark: "line", encoding: { x, y, color } },
    { mark: { type: "point", opacity: 1, size: 70 }, encoding: { x, y, color, shape, tooltip } },
  ] } }] };
};
