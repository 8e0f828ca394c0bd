// Charts of counts: the histogram of search costs, reasons, causes of waits, migrations.
charts.histogram = (figure, rows) => {
  const { color } = bySide(rows);
  const bins = rows.map((row) => ({ ...row,
    bin: row.from === row.to ? short.format(row.from) : `${short.format(row.from)}\u2013${short.format(row.to)}` }));
  const order = different([...bins].sort((a, b) => a.from - b.from), "bin");
  const tip = tipsOf(bins);
  return { legend: sideLegend(rows, "box"), panels: [{ height: 240, spec: { data: { values: bins },
    mark: { type: "bar", cornerRadiusEnd: 2 },
    encoding: {
      x: { field: "bin", type: "ordinal", sort: order, title: axisTitle("Cost of a search", rows[0].unit),
        scale: { paddingInner: 0.25 }, axis: { labelAngle: 0, labelOverlap: true } },
      xOffset: { field: "side", type: "nominal", scale: { domain: sidesOf(rows) } },
      y: { field: "share_pct", type: "quantitative", title: "Share of the searches (%)", axis: { tickCount: 5 } },
      color,
      tooltip: [tip("side", "Side", "nominal"), tip("bin", axisTitle("Cost", rows[0].unit), "nominal"), tip("searches", "Searches"), tip("share_pct", "Share, %")],
    } } }] };
};

// Bars of shares whose parts have the colours of the page's legend, with their names where there is room.
function sharesOf(rows, key, title, tooltip) {
  const keys = different(rows, key);
  const small = isSmall();
  const bars = rows.map((row) => ({ ...row, bar: [row.load, row.side].filter(Boolean).join("\n"), at: keys.indexOf(row[key]),
    named: row.share_pct >= (small ? 22 : 9) ? row[key] : "" }));
  const order = different(bars, "bar");
  const y = { field: "bar", type: "nominal", sort: order, title: null, scale: { paddingInner: 0.15 },
    axis: { labelLimit: small ? 130 : 300, labelExpr: small ? "split(datum.value, '\\n')" : "replace(datum.value, '\\n', ', ')", labelLineHeight: 12, labelOverlap: false, labelColor: "var(--fg)", ticks: false, domain: false } };
  const x = { field: "share_pct", type: "quantitative", title, scale: { domain: [0, 100] }, axis: { tickCount: 6 }, stack: "zero" };
  const colors = (of) => ({ field: key, type: "nominal", legend: null, scale: { domain: keys, range: keys.map(of) } });
  const order_ = { field: "at", type: "quantitative" };
  const step = order.length > 24 ? (small ? 26 : 17) : 28;
  return { legend: [], panels: [{ height: order.length * step + 44, whole: true, spec: { data: { values: bars }, resolve: { scale: { color: "independent" } }, layer: [
    { mark: { type: "bar", stroke: "var(--bg)", strokeWidth: 1 }, encoding: { y, x, color: colors(keyColor), order: order_, tooltip } },
    { mark: { type: "text", fontSize: 11 }, encoding: { y, x: { ...x, bandPosition: 0.5 }, text: { field: "named" }, color: colors(keyInk), order: order_, tooltip } },
  ] } }] };
}

charts.reasons = (figure, rows) => {
  const tip = tipsOf(rows);
  return sharesOf(rows, "reason", "Share of the wake-ups (%)", known(rows, [tip("side", "Side", "nominal"), tip("load", "Load", "nominal"), tip("reason", "Reason", "nominal"), tip("wakeups", "Wake-ups"), tip("share_pct", "Share, %")]));
};

charts.causes = (figure, rows) => {
  const tip = tipsOf(rows);
  return sharesOf(rows, "cause", "Share of the waiting (%)", [tip("side", "Side", "nominal"), tip("cause", "Cause", "nominal"), tip("waits", "Waits"), tip("sum_ms", "Sum, ms"), tip("share_pct", "Share, %")]);
};

charts.matrix = (figure, rows) => {
  const away = rows.filter((row) => row.from_llc !== row.to_llc);
  const most = Math.max(1, ...away.map((row) => row.wakeups));
  const names = different(rows, "from_llc");
  const axis = (field, title) => ({ field, type: "ordinal", sort: names, title, axis: { labelAngle: 0, labelOverlap: true, domain: false, ticks: false } });
  const x = { ...axis("to_llc", "put on LLC"), axis: { ...axis("to_llc").axis, orient: "top" } };
  const y = axis("from_llc", "ran last on LLC");
  const tip = tipsOf(rows);
  const tooltip = [tip("side", "Side", "nominal"), tip("from_llc", "From LLC", "nominal"), tip("to_llc", "To LLC", "nominal"), tip("wakeups", "Wake-ups")];
  const panels = sidesOf(rows).map((side) => {
    const values = rows.filter((row) => row.side === side)
      .map((row) => ({ ...row, text: short.format(row.wakeups), share: row.from_llc === row.to_llc ? 0 : row.wakeups / most }));
    const layer = [{ mark: { type: "rect", fill: "var(--cell)", stroke: "var(--bg)" }, encoding: { x, y, tooltip,
      fillOpacity: { field: "share", type: "quantitative", legend: null, scale: { domain: [0, 1], range: [0, 1] } } } }];
    if (names.length <= 8) layer.push({ mark: { type: "text", fontSize: 11 }, encoding: { x, y, text: { field: "text", type: "nominal" }, tooltip,
      color: { condition: { test: "datum.share > 0.5", value: "var(--bg)" }, value: "var(--fg)" } } });
    return { title: side, height: Math.max(120, Math.min(420, names.length * 34 + 50)), whole: true, spec: { data: { values }, view: { fill: "var(--nothing)" }, layer } };
  });
  return { gradient: [["0", `${short.format(most)} ${most === 1 ? "wake-up" : "wake-ups"}`], ["var(--nothing)", "var(--cell)"]], columns: 2, least: isSmall() ? 150 : 280, panels };
};
