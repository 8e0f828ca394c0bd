// A figure's values as a table, made when it is opened.
const SHOWN_ROWS = 500;

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// One precision for a column; where a column has the values of several statistics or metrics, for each of them.
function precisionOf(figure, rows) {
  const by = ["statistic", "metric"].find((name) => figure.columns.some((column) => column.name === name));
  const found = new Map();
  for (const { name } of figure.columns) {
    for (const group of by ? different(rows, by) : [undefined]) {
      const mine = by ? rows.filter((row) => row[by] === group) : rows;
      found.set(`${name}\n${group}`, decimalsOf(mine.map((row) => row[name])));
    }
  }
  return (row, name) => fixed(row[name], found.get(`${name}\n${by ? row[by] : undefined}`));
}

function valuesTable(figure) {
  const rows = rowsOf(figure);
  const box = element("div", undefined, { class: "scroll", role: "region", tabindex: "0" });
  box.setAttribute("aria-label", `Values of ${figure.title}`);
  const table = element("table");
  const head = element("tr");
  const columns = figure.columns.filter(({ name }) => rows.some((row) => row[name] !== null && row[name] !== ""));
  const numeric = columns.map((column) => rows.some((row) => typeof row[column.name] === "number"));
  columns.forEach((column, c) => {
    const cell = element("th", undefined, { scope: "col", class: numeric[c] ? "num" : "" });
    cell.append(labelOf(column.title, column.about), column.unit ? ` (${column.unit})` : "");
    head.append(cell);
  });
  const told = precisionOf(figure, rows);
  const body = element("tbody");
  for (const row of rows.slice(0, SHOWN_ROWS)) {
    const line = element("tr");
    columns.forEach((column, c) => {
      const value = row[column.name];
      line.append(element("td", typeof value === "number" ? told(row, column.name) : value ?? "", { class: numeric[c] ? "num" : "" }));
    });
    body.append(line);
  }
  const header = element("thead");
  header.append(head);
  table.append(header, body);
  box.append(table);
  const all = [box];
  if (rows.length > SHOWN_ROWS) {
    all.unshift(element("p", `The first ${SHOWN_ROWS} of ${rows.length} rows; all of them are in the CSV.`));
  }
  return all;
}
