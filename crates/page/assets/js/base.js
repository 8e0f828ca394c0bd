// What all charts share: colours, marks, scales, precision, legends.
const charts = {};
const SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "circle", "square"];
const DASHES = [[1, 0], [7, 3], [2, 2], [8, 3, 2, 3], [12, 3], [4, 2, 1, 2], [1, 3], [10, 2, 2, 2]];
const isSmall = () => innerWidth < 620;

// Sides that the page does not name come after those that it does.
const sides = [...page.sides];
function sideAt(side) {
  if (!sides.includes(side)) sides.push(side);
  return sides.indexOf(side) % 8;
}
const sideColor = (side) => `var(--s${sideAt(side)})`;
// The colour of a reason or a cause, and what is read on it.
const keyColor = (name) => (page.keys[name] ? `var(--${page.keys[name]})` : "var(--muted)");
const keyInk = (name) => (page.keys[name] ? `var(--${page.keys[name]}-ink)` : "var(--bg)");

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
    shape: field(domain.map((side) => SHAPES[sideAt(side)])),
    dash: field(domain.map((side) => DASHES[sideAt(side)])),
  };
}

// The decimals of numbers that stand together: what they need, two at most, and fewer where one of them is large.
function decimalsOf(values) {
  let [largest, needed] = [0, 0];
  for (const value of values) {
    if (typeof value !== "number") continue;
    largest = Math.max(largest, Math.abs(value));
    if (!Number.isInteger(value)) needed = Math.max(needed, Math.round(value * 10) / 10 === value ? 1 : 2);
  }
  return largest >= 1000 ? 0 : largest >= 100 ? Math.min(1, needed) : needed;
}

const fixed = (value, decimals) => new Intl.NumberFormat("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(value);
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const signed = (value, decimals) => {
  const text = fixed(value, decimals);
  return /[1-9]/.test(text) ? (value > 0 ? `+${text}` : text.replace("-", "\u2212")) : text.replace("-", "");
};
const withUnit = (text, unit) => (unit ? `${text} ${unit}` : text);

// Tooltips of a chart: a field with its title, in the precision of the rows that are drawn.
const tipsOf = (rows) => (field, title, type = "quantitative") => {
  if (type !== "quantitative") return { field, type, title };
  return { field, type, title, format: `,.${decimalsOf(rows.map((row) => row[field]))}f` };
};
const known = (rows, tips) => tips.filter((one) => rows.some((row) => row[one.field] !== null && row[one.field] !== undefined && row[one.field] !== ""));

const axisTitle = (title, unit) => (unit ? `${title} (${unit})` : title);
const axisFormat = (rows, field) => (rows.some((row) => Math.abs(row[field]) >= 10000) ? ".3~s" : ",.2~f");

// Loads of one unit have it in the title of their axis.
function loadAxis(rows) {
  const loads = different(rows, "load");
  const parts = loads.map((load) => /^(\S+) (.+)$/.exec(load));
  const unit = parts.every((part) => part && part[2] === parts[0][2]) ? parts[0][2] : null;
  const axis = { labelAngle: 0, labelOverlap: true, labelSeparation: 8 };
  if (unit) axis.labelExpr = "split(datum.value, ' ')[0]";
  return { field: "load", type: "ordinal", sort: loads, title: axisTitle("Load", unit), scale: { padding: 0.5 }, axis };
}

const config = {
  background: null,
  font: "system-ui, 'DejaVu Sans', sans-serif",
  aria: false,
  view: { stroke: null },
  axis: {
    labelColor: "var(--muted)", titleColor: "var(--muted)", gridColor: "var(--line)", domainColor: "var(--line)", tickColor: "var(--line)",
    labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", gridDash: [2, 3], labelLimit: 120, labelSeparation: 8, labelOverlap: true,
  },
  // Numbers beside an axis have the same room everywhere, so that charts above and beside each other are aligned.
  axisX: { grid: false }, axisYQuantitative: { minExtent: 40 },
  text: { color: "var(--fg)" }, line: { strokeWidth: 2 }, point: { filled: true, size: 55 },
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
  const at = sideAt(side);
  if (how === "box") return [side, sideColor(side), "box"];
  return [side, sideColor(side), how === "shape" ? SHAPES[at] : "line", how === "dash" ? DASHES[at] : []];
});

// Numbers where a chart would be a single dot: [words, text, colour].
function numbersOf(entries) {
  const list = element("dl", undefined, { class: "numbers" });
  for (const [words, text, color] of entries) {
    const item = element("div");
    const name = element("dt", words);
    if (color) name.prepend(element("i", undefined, { class: "key", style: `background: ${color}` }));
    item.append(name, element("dd", text));
    list.append(item);
  }
  return list;
}
