// A figure's values as a table, made when it is opened.
const SHOWN_ROWS = 500;

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function valuesTable(figure) {
  const rows = rowsOf(figure);
  const box = element("div", undefined, { class: "scroll", role: "region", tabindex: "0" });
  box.setAttribute("aria-label", `Values of ${figure.title}`);
  const table = element("table");
  const head = element("tr");
  const numeric = figure.columns.map((column) => rows.some((row) => typeof row[column.name] === "number"));
  figure.columns.forEach((column, c) => {
    const title = column.unit ? `${column.title} (${column.unit})` : column.title;
    head.append(element("th", title, { scope: "col", class: numeric[c] ? "num" : "" }));
  });
  const body = element("tbody");
  for (const row of rows.slice(0, SHOWN_ROWS)) {
    const line = element("tr");
    figure.columns.forEach((column, c) => {
      line.append(element("td", row[column.name] ?? "", { class: numeric[c] ? "num" : "" }));
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
