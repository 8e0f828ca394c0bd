// Charts of counts: the histogram of search costs, reasons, causes of waits, migrations.
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

charts.histogram = (figure, rows) => {
  const { color } = bySide(rows);
  const bins = rows.map((row) => ({ ...row,
    bin: row.from === row.to ? short.format(row.from) : `${short.format(row.from)}\u2013${short.format(row.to)}` }));
  const order = different([...bins].sort((a, b) => a.from - b.from), "bin");
  return { legend: sideLegend(rows, "box"), panels: [{ height: 280, spec: { data: { values: bins },
    mark: { type: "bar", cornerRadiusEnd: 2 },
    encoding: {
      x: { field: "bin", type: "ordinal", sort: order, title: axisTitle("Cost of a search", rows[0].unit),
        scale: { paddingInner: 0.25 }, axis: { labelAngle: 0, labelOverlap: true } },
      xOffset: { field: "side", type: "nominal", scale: { domain: sidesOf(rows) } },
      y: { field: "share_pct", type: "quantitative", title: "Share of the searches (%)" },
      color,
      tooltip: [tip("side", "Side", "nominal"), tip("bin", axisTitle("Cost", rows[0].unit), "nominal"), tip("searches", "Searches"), tip("share_pct", "Share, %")],
    } } }] };
};

charts.reasons = (figure, rows) => {
  const reasons = different(rows, "reason");
  const colors = reasons.map((_, i) => PALETTE[i % PALETTE.length]);
  const bars = rows.map((row, i) => ({ ...row, bar: row.load ? `${row.load} \u00b7 ${row.side}` : row.side, at: reasons.indexOf(row.reason) }));
  const order = different(bars, "bar");
  return { legend: reasons.map((reason, i) => [reason, colors[i], "box"]), panels: [{ height: order.length * 34 + 44, spec: { data: { values: bars },
    mark: { type: "bar", stroke: "var(--bg)", strokeWidth: 1 },
    encoding: {
      y: { field: "bar", type: "nominal", sort: order, title: rows[0].load ? "Load and side" : null, scale: { paddingInner: 0.2 }, axis: { labelLimit: innerWidth < 700 ? 130 : 300, labelExpr: "split(datum.label, ' \u00b7 ')", labelLineHeight: 12, ticks: false, domain: false } },
      x: { field: "share_pct", type: "quantitative", title: "Share of the wake-ups (%)", scale: { domain: [0, 100] }, axis: { tickCount: 6 }, stack: "zero" },
      color: { field: "reason", type: "nominal", legend: null, scale: { domain: reasons, range: colors } },
      order: { field: "at", type: "quantitative" },
      tooltip: [tip("side", "Side", "nominal"), tip("load", "Load", "nominal"), tip("reason", "Reason", "nominal"), tip("wakeups", "Wake-ups"), tip("share_pct", "Share, %")],
    } } }] };
};

charts.causes = (figure, rows) => {
  const causes = different(rows, "cause");
  const colors = causes.map((_, i) => PALETTE[i % PALETTE.length]);
  const order = different(rows, "side");
  const bars = rows.map((row) => ({ ...row, at: causes.indexOf(row.cause) }));
  return { legend: causes.map((cause, i) => [cause, colors[i], "box"]), panels: [{ height: order.length * 34 + 44, spec: { data: { values: bars },
    mark: { type: "bar", stroke: "var(--bg)", strokeWidth: 1 },
    encoding: {
      y: { field: "side", type: "nominal", sort: order, title: null, scale: { paddingInner: 0.2 }, axis: { labelLimit: innerWidth < 700 ? 130 : 300, ticks: false, domain: false } },
      x: { field: "share_pct", type: "quantitative", title: "Share of the waiting (%)", scale: { domain: [0, 100] }, axis: { tickCount: 6 }, stack: "zero" },
      color: { field: "cause", type: "nominal", legend: null, scale: { domain: causes, range: colors } },
      order: { field: "at", type: "quantitative" },
      tooltip: [tip("side", "Side", "nominal"), tip("cause", "Cause", "nominal"), tip("waits", "Waits"), tip("sum_ms", "Sum, ms"), tip("share_pct", "Share, %")],
    } } }] };
};

charts.matrix = (figure, rows) => {
  const away = rows.filter((row) => row.from_llc !== row.to_llc);
  const most = Math.max(1, ...away.map((row) => row.wakeups));
  const names = different(rows, "from_llc");
  const axis = (field, title) => ({ field, type: "ordinal", sort: names, title, axis: { labelAngle: 0, labelOverlap: true, domain: false, ticks: false } });
  const x = { ...axis("to_llc", "put on LLC"), axis: { ...axis("to_llc").axis, orient: "top" } };
  const y = axis("from_llc", "ran last on LLC");
  const tooltip = [tip("side", "Side", "nominal"), tip("from_llc", "From LLC", "nominal"), tip("to_llc", "To LLC", "nominal"), tip("wakeups", "Wake-ups")];
  const panels = sidesOf(rows).map((side) => {
    const values = rows.filter((row) => row.side === side)
      .map((row) => ({ ...row, text: short.format(row.wakeups), share: row.from_llc === row.to_llc ? 0 : row.wakeups / most }));
    const layer = [{ mark: { type: "rect", fill: "var(--cell)", stroke: "var(--bg)" }, encoding: { x, y, tooltip,
      fillOpacity: { field: "share", type: "quantitative", legend: null, scale: { domain: [0, 1], range: [0, 1] } } } }];
    if (names.length <= 8) layer.push({ mark: { type: "text", fontSize: 11 }, encoding: { x, y, text: { field: "text", type: "nominal" }, tooltip,
      color: { condition: { test: "datum.share > 0.5", value: "var(--bg)" }, value: "var(--fg)" } } });
    return { title: side, height: Math.max(150, Math.min(420, names.length * 34 + 50)), spec: { data: { values }, view: { fill: "var(--nothing)" }, layer } };
  });
  return { gradient: ["0", `${short.format(most)} ${most === 1 ? "wake-up" : "wake-ups"}`, "var(--cell)"], columns: 2, panels };
};
