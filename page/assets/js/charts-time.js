// Charts over time.
const timeAxis = { field: "at_ms", type: "quantitative", title: "Time (ms)", scale: { nice: false, zero: false }, axis: { tickCount: 6 } };

charts.heat = (figure, rows, chosen) => {
  const [field, words, color] = { running: ["running_pct", "Running", "var(--s0)"], searching: ["searching_pct", "Searching", "var(--s1)"], idle: ["idle_pct", "Idle", "var(--s2)"] }[chosen.show];
  let most = 0;
  for (const row of rows) most = Math.max(most, row[field]);
  most = chosen.show === "searching" ? Math.max(1, Math.ceil(most)) : 100;
  const panels = sidesOf(rows).map((side) => {
    const mine = rows.filter((row) => row.side === side);
    const cpus = different(mine, "cpus");
    const every = Math.ceil(cpus.length / 16);
    return { title: side, className: "heat", height: Math.max(120, Math.min(460, cpus.length * 9)) + 50, spec: {
      data: { values: mine }, view: { fill: "var(--nothing)" }, mark: { type: "rect", fill: color },
      encoding: {
        x: { field: "from_ms", type: "quantitative", title: "Time (ms)", scale: { nice: false, zero: false }, axis: { tickCount: 6 } }, x2: { field: "to_ms" },
        y: { field: "cpus", type: "ordinal", sort: cpus, title: "CPU", axis: { values: cpus.filter((_, i) => i % every === 0), ticks: false, domain: false } },
        fillOpacity: { field, type: "quantitative", legend: null, scale: { domain: [0, most], range: [0, 1] } },
        tooltip: [tip("cpus", "CPU", "nominal"), tip("from_ms", "From, ms"), tip("to_ms", "To, ms"), tip("running_pct", "Running, %"), tip("searching_pct", "Searching, %"), tip("idle_pct", "Idle, %")],
      } } };
  });
  return { gradient: [`${words}: 0 %`, `${most} % of the bin`, color], columns: 2, panels };
};
charts.heat.choices = [["show", "Show the share of time", [["running", "running tasks"], ["searching", "searching for a CPU"], ["idle", "idle"]]]];

// A line whose nearest point is named where the pointer is.
function timeLine(values, y, encoding, tooltip, step) {
  const x = { ...timeAxis };
  return [
    { mark: { type: "line", strokeWidth: 1.7, interpolate: step ? "step-after" : "linear" }, data: { values }, encoding: { x, y, ...encoding } },
    { mark: { type: "point", size: 60 }, data: { values }, params: [{ name: "near", select: { type: "point", nearest: true, on: "pointerover", clear: "pointerout" } }],
      encoding: { x, y, color: encoding.color, tooltip, opacity: { condition: { param: "near", empty: false, value: 1 }, value: 0 } } },
  ];
}

charts.llc = (figure, rows) => {
  const { color, dash } = bySide(rows);
  const flips = rows.filter((row) => row.flip);
  const ends = rows.map((row) => row.at_ms);
  const domain = [ends.reduce((a, b) => Math.min(a, b), Infinity), ends.reduce((a, b) => Math.max(a, b), -Infinity)];
  const panel = (field, title, about, step) => {
    const values = rows.filter((row) => row[field] !== null);
    const y = { field, type: "quantitative", title, scale: { zero: true }, axis: { tickCount: 5 } };
    const tooltip = [tip("side", "Side", "nominal"), tip("at_ms", "Time, ms"), tip("util_pct", "Utilisation, %"), tip("nr_idle_scan", "nr_idle_scan")];
    const layer = timeLine(values, y, { color, strokeDash: dash }, tooltip, step);
    layer[0].encoding.x = { ...timeAxis, scale: { ...timeAxis.scale, domain } };
    if (flips.length) {
      const x = { field: "at_ms", type: "quantitative" };
      const told = [tip("side", "Side", "nominal"), tip("at_ms", "Time, ms"), tip("flip", "State", "nominal")];
      layer.push({ data: { values: flips }, mark: { type: "rule", strokeWidth: 2, strokeDash: [2, 3] }, encoding: { x, color, tooltip: told } });
      layer.push({ data: { values: flips }, mark: { type: "point", shape: "triangle-down", size: 120, opacity: 1, yOffset: 4 }, encoding: { x, y: { value: 0 }, color, tooltip: told } });
    }
    return { title: about, height: 210, spec: { layer } };
  };
  const panels = [panel("util_pct", "Utilisation (%)", "Utilisation of the LLC, % of its capacity", false)];
  if (rows.some((row) => row.nr_idle_scan !== null)) panels.push(panel("nr_idle_scan", "nr_idle_scan", "nr_idle_scan: run queues that a search may look at", true));
  const legend = sideLegend(rows, "dash");
  for (const flip of flips) legend.push([`${flip.side}, ${short.format(flip.at_ms)} ms: ${flip.flip}`, sideColor(flip.side), "triangle-down", [2, 3]]);
  return { legend, columns: 1, panels };
};

function overTime(figure, rows, step) {
  const { color, dash } = bySide(rows);
  const { title, unit } = figure.columns[3];
  const y = { field: "value", type: "quantitative", title: axisTitle(title, unit), scale: { zero: step !== true }, axis: { tickCount: 5, format: big(rows, "value") } };
  const labels = different(rows, "label");
  const panels = labels.map((label) => ({ title: label, height: 210, spec: { layer: timeLine(rows.filter((row) => row.label === label), y,
    { color, strokeDash: dash }, [tip("side", "Side", "nominal"), tip("at_ms", "Time, ms"), tip("value", axisTitle(title, unit))], step) } }));
  return { legend: sideLegend(rows, "dash"), columns: Math.min(2, labels.length), panels };
}
charts.line = (figure, rows) => overTime(figure, rows, false);
charts.step = (figure, rows) => overTime(figure, rows, true);

charts.stacked = (figure, rows) => {
  const labels = different(rows, "label");
  const range = labels.map((_, i) => PALETTE[i % PALETTE.length]);
  const { title, unit } = figure.columns[3];
  const panels = sidesOf(rows).map((side) => {
    const mine = rows.filter((row) => row.side === side);
    const times = different(mine, "at_ms");
    const half = times.length > 1 ? (times[1] - times[0]) / 2 : 0.5;
    const values = mine.map((row) => ({ ...row, at: labels.indexOf(row.label), from: row.at_ms - half, to: row.at_ms + half }));
    const color = { field: "label", type: "nominal", legend: null, scale: { domain: labels, range } };
    const y = { field: "value", type: "quantitative", stack: "zero", title: axisTitle(title, unit), axis: { tickCount: 5 } };
    return { title: side, height: 210, spec: { data: { values }, mark: { type: "bar", strokeWidth: 0.8, binSpacing: 0 }, encoding: { stroke: color, x: { ...timeAxis, field: "from", bin: "binned" }, x2: { field: "to" }, y, color,
      order: { field: "at", type: "quantitative" }, tooltip: [tip("label", "Of", "nominal"), tip("side", "Side", "nominal"), tip("at_ms", "Time, ms"), tip("value", axisTitle(title, unit))] } } };
  });
  return { legend: labels.map((label, i) => [label, range[i], "box"]), columns: 2, panels };
};
