// Charts over the load: the comparison, named statistics, percentiles.
charts.comparison = (figure, rows) => {
  const unit = rows[0].unit;
  const title = (name) => figure.columns.find((column) => column.name === name).title;
  const [base, other] = [title("base"), title("with")];
  const verdicts = { worse: ["var(--worse)", "triangle-down"], better: ["var(--better)", "triangle-up"], same: ["var(--muted)", "circle"], unknown: ["var(--muted)", "circle"] };
  const scale = (at) => ({ domain: Object.keys(verdicts), range: Object.values(verdicts).map((v) => v[at]) });
  const color = { field: "verdict", type: "nominal", legend: null, scale: scale(0) };
  const x = loadAxis(rows);
  const y = { field: "better_pct", type: "quantitative", title: `${other} is better by (%)` };
  const tooltip = [tip("load", "Load", "nominal"), tip("better_pct", "Better by, %"), tip("better_low_pct", "from, %"),
    tip("better_high_pct", "to, %"), tip("p", "p"), tip("verdict", "Verdict", "nominal"), tip("published_pct", "Published, %")];
  const change = { layer: [
    { data: { values: [{}] }, mark: { type: "rule", color: "var(--fg)", strokeWidth: 1 }, encoding: { y: { datum: 0 } } },
    { mark: { type: "rule", strokeWidth: 2 }, encoding: { x, y: { ...y, field: "better_low_pct" }, y2: { field: "better_high_pct" }, color, tooltip } },
    { transform: [{ filter: "isValid(datum.published_pct)" }], mark: { type: "point", shape: "diamond", filled: false, color: "var(--s3)", size: 90, strokeWidth: 2 },
      encoding: { x, y: { ...y, field: "published_pct" }, tooltip } },
    { mark: { type: "point", size: 110, opacity: 1 }, encoding: { x, y, color, shape: { field: "verdict", type: "nominal", legend: null, scale: scale(1) }, tooltip } },
  ], data: { values: rows } };
  if (rows.every((row) => row.published_pct === null)) change.layer.splice(2, 1);
  if (rows.every((row) => row.better_low_pct === null)) change.layer.splice(1, 1);
  const both = rows.flatMap((row) => [["base", base], ["with", other]].map(([key, side]) =>
    ({ load: row.load, side, value: row[key], low: row[`${key}_low`], high: row[`${key}_high`] })));
  const legend = [...sideLegend(both), [`${other} worse`, "var(--worse)", "triangle-down"], [`${other} better`, "var(--better)", "triangle-up"],
    [rows.every((row) => row.verdict === "unknown") ? "too few repeats to say" : "no difference shown", "var(--muted)", "circle"]];
  if (rows.some((row) => row.published_pct !== null)) legend.push(["published difference", "var(--s3)", "diamond"]);
  const difference = { title: rows.some((row) => row.better_low_pct !== null) ? "Difference with its 95 % interval" : "Difference", spec: change };
  if (both.every((row) => row.value === null)) return { legend: legend.slice(sidesOf(both).length), columns: 1, panels: [difference] };
  return { legend, columns: 2, panels: [
    difference,
    { title: `Both sides${unit ? ` in ${unit}` : ""}`, spec: linesOverLoad(both, axisTitle("Value", unit), unit, true) },
  ] };
};

// Lines over the load with points, intervals, and what was published.
function linesOverLoad(rows, yTitle, unit, zero) {
  const { color, shape } = bySide(rows);
  const x = loadAxis(rows);
  const y = { field: "value", type: "quantitative", title: yTitle, scale: { zero }, axis: { format: big(rows, "value"), tickCount: 5 } };
  const named = unit ? `Value, ${unit}` : "Value";
  const tooltip = [tip("side", "Side", "nominal"), tip("load", "Load", "nominal"), tip("value", named), tip("low", "from"), tip("high", "to"), tip("source", "From", "nominal")]
    .filter((one) => rows.some((row) => row[one.field] !== null && row[one.field] !== undefined));
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
  const layer = [...(rows.some((row) => row.source === "published") ? published : []), ...own];
  return { data: { values: rows }, layer };
}

charts.statistics = (figure, rows) => {
  const legend = sideLegend(rows);
  if (rows.some((row) => row.source === "published")) legend.push(["published", "var(--muted)", "diamond", [3, 3]]);
  const panels = different(rows, "statistic").map((name) => {
    const mine = rows.filter((row) => row.statistic === name);
    const { about, unit } = mine[0];
    return { title: name, about, spec: linesOverLoad(mine, axisTitle(name, unit), unit, unit !== "%"), height: 190 };
  });
  return { legend, columns: 3, panels };
};

charts.percentiles = (figure, rows) => {
  const { color, shape } = bySide(rows);
  const x = { field: "percentile", type: "ordinal", sort: different(rows, "percentile"), title: "Percentile of the wake-ups",
    axis: { labelAngle: 0, labelOverlap: true } };
  const y = { field: "us", type: "quantitative", title: "Time from wake-up to run (us)", axis: { format: "~s", tickCount: 6 },
    scale: rows.every((row) => row.us > 0) ? { type: "log", nice: true } : { type: "symlog" } };
  const tooltip = [tip("side", "Side", "nominal"), tip("percentile", "Percentile", "nominal"), tip("us", "Time, us")];
  return { legend: sideLegend(rows), panels: [{ height: 300, spec: { data: { values: rows }, layer: [
    { mark: "line", encoding: { x, y, color } },
    { mark: { type: "point", opacity: 1, size: 70 }, encoding: { x, y, color, shape, tooltip } },
  ] } }] };
};
