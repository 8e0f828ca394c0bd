// What all charts share: colours, marks, scales, legends.
const charts = {};
const SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "circle", "square"];
const DASHES = [[1, 0], [7, 3], [2, 2], [8, 3, 2, 3], [12, 3], [4, 2, 1, 2], [1, 3], [10, 2, 2, 2]];
const PALETTE = ["#3f7fc1", "#e08a2e", "#4fa36a", "#c9564f", "#8b6fc0", "#3ea5a8", "#c77fae", "#9a8a3c", "#7d8894", "#b5651d", "#6a93d8", "#8fb339"];
const NUMBER = ",.5~r";

const sideAt = (side) => Math.max(0, page.sides.indexOf(side));
const sideColor = (side) => `var(--s${sideAt(side) % 8})`;

function sidesOf(rows) {
  const there = different(rows, "side");
  return [...page.sides.filter((side) => there.includes(side)), ...there.filter((side) => !page.sides.includes(side))];
}

// Encodings by side that agree in all charts.
function bySide(rows) {
  const domain = sidesOf(rows);
  const field = (range) => ({ field: "side", type: "nominal", legend: null, scale: { domain, range } });
  return {
    color: field(domain.map(sideColor)),
    shape: field(domain.map((side) => SHAPES[sideAt(side) % 8])),
    dash: field(domain.map((side) => DASHES[sideAt(side) % 8])),
  };
}

const tip = (field, title, type = "quantitative") =>
  (type === "quantitative" ? { field, type, title, format: NUMBER } : { field, type, title });

function axisTitle(title, unit) {
  return unit ? `${title} (${unit})` : title;
}

function big(rows, field) {
  return rows.some((row) => Math.abs(row[field]) >= 10000) ? "~s" : ",~r";
}

const loadAxis = (rows) => ({
  field: "load", type: "ordinal", sort: different(rows, "load"), title: "Load",
  scale: { padding: 0.5 }, axis: { labelAngle: 0, labelOverlap: true, labelSeparation: 8 },
});

const config = {
  background: null,
  font: "system-ui, 'DejaVu Sans', sans-serif",
  aria: false,
  view: { stroke: null },
  axis: {
    labelColor: "var(--muted)", titleColor: "var(--muted)", gridColor: "var(--line)", domainColor: "var(--line)", tickColor: "var(--line)",
    labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", gridDash: [2, 3], labelLimit: 120, labelSeparation: 8, labelOverlap: true,
  },
  axisX: { grid: false }, text: { color: "var(--fg)" }, line: { strokeWidth: 2 }, point: { filled: true, size: 55 },
};

// A legend: [words, colour, shape or "line" or "box", dash].
function legendOf(entries) {
  const list = element("ul", undefined, { class: "legend", "aria-label": "Legend" });
  for (const [words, color, mark, dash] of entries) {
    const item = element("li");
    const ns = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(ns, "svg");
    const add = (name, attributes) => {
      const made = document.createElementNS(ns, name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      svg.append(made);
    };
    for (const [key, value] of [["width", 26], ["height", 14], ["aria-hidden", "true"]]) svg.setAttribute(key, value);
    if (mark === "box") add("rect", { x: 6, y: 1, width: 13, height: 12, rx: 2, fill: color });
    else add("line", { x1: 0, x2: 26, y1: 7, y2: 7, stroke: color, "stroke-width": 2, "stroke-dasharray": (dash || []).join(" ") });
    if (mark === "circle") add("circle", { cx: 13, cy: 7, r: 4.5, fill: color });
    if (mark === "square") add("rect", { x: 9, y: 3, width: 8, height: 8, fill: color });
    if (mark === "triangle-up") add("path", { d: "M13 2 L18 11 L8 11 Z", fill: color });
    if (mark === "triangle-down") add("path", { d: "M13 12 L18 3 L8 3 Z", fill: color });
    if (mark === "diamond") add("path", { d: "M13 2 L18 7 L13 12 L8 7 Z", fill: "var(--bg)", stroke: color, "stroke-width": 2 });
    item.append(svg, element("span", words));
    list.append(item);
  }
  return list;
}

const sideLegend = (rows, how = "shape") => sidesOf(rows).map((side) => {
  const at = sideAt(side) % 8;
  if (how === "box") return [side, sideColor(side), "box"];
  return [side, sideColor(side), how === "shape" ? SHAPES[at] : "line", how === "dash" ? DASHES[at] : []];
});
