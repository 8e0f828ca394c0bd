// Data as CSV, pictures as SVG, made here from what the page holds.
// A text that begins as a formula does gets an apostrophe before it, but for a dash alone: a spreadsheet would run it.
function csvField(value) {
  if (value === null || value === undefined) return "";
  let text = String(value);
  if (typeof value === "string" && /^[=+\-@\t\r]/.test(text) && text !== "-") text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csvOf(figure) {
  const names = figure.columns.map((column) => column.name);
  const lines = rowsOf(figure).map((row) => names.map((name) => csvField(row[name])).join(","));
  return [names.map(csvField).join(","), ...lines].join("\r\n") + "\r\n";
}

function save(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// The chart's drawing with the colours that it has now, as it has no style of its own outside of the page.
function svgOf(svg) {
  const style = getComputedStyle(document.documentElement);
  const copy = svg.cloneNode(true);
  const back = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of [["width", "100%"], ["height", "100%"], ["fill", "var(--bg)"]]) back.setAttribute(name, value);
  copy.prepend(back);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return copy.outerHTML.replace(/var\((--[a-z0-9]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
}

function button(words, label, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = words;
  made.setAttribute("aria-label", label);
  made.addEventListener("click", act);
  return made;
}

function addCsvButton(place, figure) {
  const act = () => save(`${figure.id}.csv`, "text/csv", csvOf(figure));
  place.append(button("Save CSV", `Save CSV of ${figure.title}`, act));
}
