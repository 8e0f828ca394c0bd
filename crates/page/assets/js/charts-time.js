// Charts over time.
const DOING = { running: "running tasks", searching: "searching for a CPU", idle: "idle" };
const showChoice = [["show", "Show the share of time", Object.entries(DOING)]];

const timeAxis = (domain) => ({ field: "at_ms", type: "quantitative", title: "Time (ms)", scale: { nice: false, zero: false, domain }, axis: { tickCount: isSmall() ? 4 : 6, format: ",.2~f" } });

// The ends of a figure's time, which all its charts share.
function timesOf(rows, from = "at_ms", to = from) {
  let [least, most] = [Infinity, -Infinity];
  for (const row of rows) [least, most] = [Math.min(least, row[from]), Math.max(most, row[to])];
  return [least, most];
}

// A map of CPUs and time. `opacity` has the field, its largest value and the colour of each cell.
function heatMap(title, rows, domain, [field, most, fill], tooltip) {
  const cpus = different(rows, "cpus");
  const every = Math.ceil(cpus.length / 16);
  return { title, className: "heat", height: Math.max(120, Math.min(460, cpus.length * 9)) + 50, spec: {
    data: { values: rows }, view: { fill: "var(--nothing)" }, mark: { type: "rect" },
    encoding: {
      x: { ...timeAxis(domain), field: "from_ms" }, x2: { field: "to_ms" },
      y: { field: "cpus", type: "ordinal", sort: cpus, title: "CPU", axis: { values: cpus.filter((_, i) => i % every === 0), ticks: false, domain: false, minExtent: 40 } },
      fill, fillOpacity: { field, type: "quantitative", legend: null, scale: { domain: [0, most], range: [0, 1] } }, tooltip,
    } } };
}

charts.heat = (figure, rows, chosen) => {
  const [field, color] = [`${chosen.show}_pct`, `var(--k-${chosen.show})`];
  let most = 0;
  for (const row of rows) most = Math.max(most, row[field]);
  most = chosen.show === "searching" ? Math.max(1, Math.ceil(most)) : 100;
  const domain = timesOf(rows, "from_ms", "to_ms");
  const tip = (name, title, type) => ({ ...tipsOf([])(name, title, type), ...(type ? {} : { format: ",.1f" }) });
  const tooltip = [tip("cpus", "CPU", "nominal"), { ...tip("from_ms", "From, ms"), format: ",.2f" }, { ...tip("to_ms", "To, ms"), format: ",.2f" },
    tip("running_pct", "Running, %"), tip("searching_pct", "Searching, %"), tip("idle_pct", "Idle, %")];
  const panels = sidesOf(rows).map((side) => heatMap(side, rows.filter((row) => row.side === side), domain, [field, most, { value: color }], tooltip));
  return { gradient: [[`${DOING[chosen.show]}: 0 %`, `${most} % of the bin`], ["var(--nothing)", color]], columns: 2, panels };
};
charts.heat.choices = showChoice;

// What one side did more than the other.
charts.heatdifference = (figure, rows, chosen) => {
  const field = `${chosen.show}_points`;
  let most = 1;
  const values = rows.map((row) => {
    most = Math.max(most, Math.abs(row[field]));
    return { ...row, size: Math.abs(row[field]), more: row[field] > 0 ? 1 : 0 };
  });
  most = Math.ceil(most);
  const [base, other] = page.sides;
  const fill = { field: "more", type: "nominal", legend: null, scale: { domain: [0, 1], range: [sideColor(base), sideColor(other)] } };
  const tip = (name, title) => ({ field: name, type: "quantitative", title, format: "+,.1f" });
  const tooltip = [{ field: "cpus", type: "nominal", title: "CPU" }, { ...tip("from_ms", "From, ms"), format: ",.2f" }, { ...tip("to_ms", "To, ms"), format: ",.2f" },
    tip("running_points", "Running, points"), tip("searching_points", "Searching, points"), tip("idle_points", "Idle, points")];
  const panel = heatMap("", values, timesOf(rows, "from_ms", "to_ms"), ["size", most, fill], tooltip);
  return { gradient: [[`${base} ${most} points more ${DOING[chosen.show]}`, `${other} ${most} points more`], [sideColor(base), "var(--nothing)", sideColor(other)]], panels: [panel] };
};
charts.heatdifference.choices = showChoice;

// A line whose nearest point is named where the pointer is.
function timeLine(values, x, y, encoding, tooltip, step) {
  return [
    { mark: { type: "line", strokeWidth: 1.7, interpolate: step ? "step-after" : "linear" }, data: { values }, encoding: { x, y, ...encoding } },
    { mark: { type: "point", size: 60 }, data: { values }, params: [{ name: "near", select: { type: "point", nearest: true, on: "pointerover", clear: "pointerout" } }],
      encoding: { x, y, color: encoding.color, tooltip, opacity: { condition: { param: "near", empty: false, value: 1 }, value: 0 } } },
  ];
}

charts.llc = (figure, rows) => {
  const { color, dash } = bySide(rows);
  const flips = rows.filter((row) => row.flip);
  const x = timeAxis(timesOf(rows));
  const tip = tipsOf(rows);
  const panel = (field, title, about, step) => {
    const values = rows.filter((row) => row[field] !== null);
    if (values.length === 1) return { title: about, numbers: [[`${values[0].side}, ${fixed(values[0].at_ms, 1)} ms`, fixed(values[0][field], decimalsOf([values[0][field]])), sideColor(values[0].side)]] };
    const y = { field, type: "quantitative", title, scale: { zero: true }, axis: { tickCount: 5 } };
    const tooltip = [tip("side", "Side", "nominal"), tip("at_ms", "Time, ms"), tip("util_pct", "Utilisation, %"), tip("nr_idle_scan", "nr_idle_scan")];
    const layer = timeLine(values, x, y, { color, strokeDash: dash }, tooltip, step);
    if (flips.length) {
      const told = [tip("side", "Side", "nominal"), tip("at_ms", "Time, ms"), tip("flip", "Change of state", "nominal")];
      layer.push({ data: { values: flips }, mark: { type: "rule", strokeWidth: 2, strokeDash: [2, 3] }, encoding: { x, color, tooltip: told } });
      layer.push({ data: { values: flips }, mark: { type: "point", shape: "triangle-down", size: 120, opacity: 1, yOffset: 4 }, encoding: { x, y: { value: 0 }, color, tooltip: told } });
    }
    return { title: about, height: 190, spec: { layer } };
  };
  const panels = [panel("util_pct", "Utilisation (%)", "Utilisation of the LLC, % of its capacity", false)];
  if (rows.some((row) => row.nr_idle_scan !== null)) panels.push(panel("nr_idle_scan", "nr_idle_scan", "nr_idle_scan: run queues that a search may probe", true));
  const legend = sideLegend(rows, "dash");
  if (flips.length) legend.push(["change of state", "var(--muted)", "triangle-down", [2, 3]]);
  return { legend, columns: 1, panels };
};

function overTime(figure, rows, step) {
  const { color, dash } = bySide(rows);
  const { title, unit } = figure.columns[3];
  const [tip, x] = [tipsOf(rows), timeAxis(timesOf(rows))];
  const most = Math.max(0, ...rows.map((row) => row.value));
  const y = { field: "value", type: "quantitative", title: axisTitle(title, unit), scale: { domain: [0, most || 1], nice: true }, axis: { tickCount: 5, format: axisFormat(rows, "value") } };
  const labels = different(rows, "label");
  const panels = labels.map((label) => {
    const mine = rows.filter((row) => row.label === label);
    if (different(mine, "at_ms").length === 1) return { title: label, numbers: valuesOf(mine, unit) };
    return { title: label, height: 190, spec: { layer: timeLine(mine, x, y,
      { color, strokeDash: dash }, [tip("side", "Side", "nominal"), tip("at_ms", "Time, ms"), tip("value", axisTitle(title, unit))], step) } };
  });
  return { legend: sideLegend(rows, "dash"), columns: Math.min(2, labels.length), panels };
}
charts.line = (figure, rows) => overTime(figure, rows, false);
charts.step = (figure, rows) => overTime(figure, rows, true);

// Shares of the time. Idle states are cool from the shallowest to the deepest, and tasks are grey.
charts.stacked = (figure, rows) => {
  const labels = different(rows, "label");
  const states = labels.filter((label) => label !== "running");
  const range = labels.map((label) => (label === "running" ? "var(--k-running)" : `var(--i${states.indexOf(label) % 6})`));
  const { title, unit } = figure.columns[3];
  const tip = tipsOf(rows);
  const halfOf = (times) => (times.length > 1 ? (times[1] - times[0]) / 2 : 0.5);
  const ends = rows.map((row) => row.at_ms);
  const half = halfOf(different(rows.filter((row) => row.side === rows[0].side), "at_ms"));
  const domain = [Math.min(...ends) - half, Math.max(...ends) + half];
  const panels = sidesOf(rows).map((side) => {
    const mine = rows.filter((row) => row.side === side);
    const width = halfOf(different(mine, "at_ms"));
    const values = mine.map((row) => ({ ...row, at: labels.indexOf(row.label), from: row.at_ms - width, to: row.at_ms + width }));
    const color = { field: "label", type: "nominal", legend: null, scale: { domain: labels, range } };
    const y = { field: "value", type: "quantitative", stack: "zero", title: axisTitle(title, unit), scale: unit === "%" ? { domain: [0, 100] } : {}, axis: { tickCount: 5 } };
    return { title: side, height: 190, spec: { data: { values }, mark: { type: "bar", strokeWidth: 0.8, binSpacing: 0, clip: true }, encoding: { stroke: color, x: { ...timeAxis(domain), field: "from", bin: "binned" }, x2: { field: "to" }, y, color,
      order: { field: "at", type: "quantitative" }, tooltip: [tip("label", "Of", "nominal"), tip("side", "Side", "nominal"), tip("at_ms", "Time, ms"), tip("value", axisTitle(title, unit))] } } };
  });
  return { legend: labels.map((label, i) => [label, range[i], "box"]), columns: 2, panels };
};
