// Strip charts: throughput, utilisation and searches over time, of both sides, with the moments at which the state changes.
const ratio = (part, all) => (all > 0 ? part / all : null);
const STRIPS = [
  { id: "done", title: "Throughput", unit: "transactions per second", of: (sum, ns) => sum.done * 1e9 / ns, format: (v) => short.format(v) },
  { id: "util", title: "LLC utilisation", unit: "%", most: 100, of: (sum) => 100 * sum.util / sum.bins, format: (v) => v.toFixed(0) },
  { id: "probes", title: "Run queues looked at", unit: "per search", of: (sum) => ratio(sum.scanned, sum.search), format: (v) => three.format(v) },
  { id: "failed", title: "Searches that fail", unit: "%", most: 100, of: (sum) => ratio(100 * sum.failed, sum.search), format: (v) => v.toFixed(0) },
];
const STRIP_HEIGHT = 118;
const DASHES = [[], [5, 3]];

function sumOf(bins) {
  const sum = { bins: bins.length, done: 0, wakeups: 0, search: 0, domain: 0, scanned: 0, failed: 0, util: 0 };
  for (const bin of bins) {
    sum.done += bin.done;
    sum.wakeups += bin.wakeups;
    sum.search += bin.search.sis_search;
    sum.domain += bin.search.sis_domain_search;
    sum.scanned += bin.search.sis_scanned;
    sum.failed += bin.search.sis_failed;
    sum.util += bin.llc_util;
  }
  return sum;
}

// [time, value] of stretches of so many bins.
function pointsOf(bins, binNs, group, strip) {
  const points = [];
  for (let at = 0; at < bins.length; at += group) {
    const some = bins.slice(at, at + group);
    const value = strip.of(sumOf(some), some.length * binNs);
    points.push([(at + some.length / 2) * binNs, value]);
  }
  return points;
}

// A round number at or above this one.
function round(most) {
  if (!(most > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(most));
  return unit * [1, 2, 2.5, 4, 5, 8, 10].find((n) => n * unit >= most * 0.999);
}

function drawStrip(strip, views, span) {
  const { canvas } = strip;
  if (canvas.clientWidth === 0) return;
  const { context, width } = sized(canvas, STRIP_HEIGHT);
  const [left, top, right, bottom] = [44, 8, width - 8, STRIP_HEIGHT - 20];
  const binNs = views[0].begun.bin_ns;
  const group = Math.max(1, Math.ceil(span / binNs / ((right - left) / 2.5)));
  const lines = views.map((view) => pointsOf(view.bins, binNs, group, strip));
  const most = strip.most ?? round(Math.max(0, ...lines.flat().map(([, value]) => value ?? 0)));
  const x = (ns) => left + (right - left) * Math.min(1, ns / span);
  const y = (value) => bottom - (bottom - top) * Math.min(1, value / most);

  context.font = "11px system-ui, sans-serif";
  const settle = Math.min(views[0].begun.settle_ns, span);
  context.fillStyle = palette.card;
  context.fillRect(left, top, x(settle) - left, bottom - top);
  context.fillStyle = palette.muted;
  context.textAlign = "right";
  for (const part of [0, 0.5, 1]) {
    context.strokeStyle = palette.line;
    context.beginPath();
    context.moveTo(left, Math.round(y(most * part)) + 0.5);
    context.lineTo(right, Math.round(y(most * part)) + 0.5);
    context.stroke();
    context.fillText(strip.format(most * part), left - 5, y(most * part) + 4);
  }
  const step = round(span / (width > 420 ? 6 : 4));
  context.textAlign = "center";
  for (let at = 0; at <= span * 1.001; at += step) {
    const text = step >= 1e9 ? `${at / 1e9} s` : `${three.format(at / 1e6)} ms`;
    context.fillText(text, Math.min(Math.max(x(at), left + 10), right - 14), STRIP_HEIGHT - 5);
  }
  if (settle > 0 && strip.id === "done" && x(settle) - left > 60) {
    context.textAlign = "right";
    context.fillText("settles", x(settle) - 4, bottom - 5);
  }
  views.forEach((view, side) => {
    for (const { at_ns: at, state } of view.frame?.changes ?? []) {
      context.strokeStyle = sideColour(side);
      context.setLineDash([2, 2]);
      context.beginPath();
      context.moveTo(x(at) + 0.5, top);
      context.lineTo(x(at) + 0.5, bottom);
      context.stroke();
      context.setLineDash([]);
    }
  });
  lines.forEach((points, side) => {
    context.strokeStyle = sideColour(side);
    context.lineWidth = 1.75;
    context.setLineDash(DASHES[side]);
    context.beginPath();
    let drawn = false;
    for (const [at, value] of points) {
      if (value === null) { drawn = false; continue; }
      if (drawn) context.lineTo(x(at), y(value));
      else context.moveTo(x(at), y(value));
      drawn = true;
    }
    context.stroke();
    context.setLineDash([]);
    context.lineWidth = 1;
  });
  if (strip.id === "done") nameChanges(context, views, x, width, top);
}

// The states that begin at the dotted lines, above all that is drawn.
function nameChanges(context, views, x, width, top) {
  views.forEach((view, side) => {
    for (const { at_ns: at, state } of view.frame?.changes ?? []) {
      const left = x(at) <= width - 90;
      context.textAlign = left ? "left" : "right";
      const place = [state, x(at) + (left ? 5 : -5), top + 12 + 14 * side];
      context.strokeStyle = palette.bg;
      context.lineWidth = 4;
      context.strokeText(...place);
      context.lineWidth = 1;
      context.fillStyle = sideColour(side);
      context.fillText(...place);
    }
  });
}

// Up to which time the charts go, ns. A run that ends with its tasks has no end that is known.
function spanOf(views) {
  const { until_ns: until } = views[0].begun;
  const at = Math.max(...views.map((view) => view.at));
  if (until < 3.6e12) return until;
  return Math.max(5e7, round(at * 1.05));
}

function drawStrips(views) {
  const span = spanOf(views);
  for (const strip of STRIPS) drawStrip(strip, views, span);
}

function makeStrips(place) {
  for (const strip of STRIPS) {
    const figure = element("figure");
    const caption = element("figcaption");
    caption.append(element("b", strip.title), " ", element("span", strip.unit));
    strip.canvas = element("canvas", undefined, { role: "img", "aria-label": `${strip.title}, ${strip.unit}, over time; its values are in the table below` });
    figure.append(caption, strip.canvas);
    place.append(figure);
  }
}

// The values of all charts, every 10 ms or of a hundredth of the run.
function valuesTable(views) {
  const { bin_ns: binNs } = views[0].begun;
  const length = Math.max(...views.map((view) => view.bins.length));
  const group = Math.max(Math.ceil(1e7 / binNs), Math.ceil(length / 100));
  const box = element("div", undefined, { class: "scroll", role: "region", tabindex: "0", "aria-label": "Values over time" });
  const table = element("table");
  const [head, body] = [element("thead"), element("tbody")];
  const titles = element("tr");
  titles.append(element("th", "from, ms", { scope: "col", class: "num" }));
  for (const strip of STRIPS) for (const view of views) {
    titles.append(element("th", `${strip.title}, ${strip.unit}, ${view.title}`, { scope: "col", class: "num" }));
  }
  head.append(titles);
  for (let at = 0; at < length; at += group) {
    const row = element("tr");
    row.append(element("th", whole.format(at * binNs / 1e6), { scope: "row", class: "num" }));
    for (const strip of STRIPS) for (const view of views) {
      const bins = view.bins.slice(at, at + group);
      const value = bins.length > 0 ? strip.of(sumOf(bins), bins.length * binNs) : null;
      row.append(element("td", value === null ? "–" : strip.format(value), { class: "num" }));
    }
    body.append(row);
  }
  table.append(head, body);
  box.append(table);
  return box;
}
