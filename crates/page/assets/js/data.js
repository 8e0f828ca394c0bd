// The page's data: figures whose columns are packed as src/figure.rs says.
const page = JSON.parse(document.getElementById("data").textContent);

function unpack(packed) {
  if (packed.plain) return packed.plain;
  if (packed.runs) return packed.runs.flatMap(([value, times]) => Array(times).fill(value));
  if (packed.words) return packed.words[1].map((at) => packed.words[0][at]);
  const [tile, all] = packed.tile;
  return Array.from({ length: all }, (_, i) => tile[i % tile.length]);
}

// The figure's values as rows: objects by the columns' names.
function rowsOf(figure) {
  if (figure.unpacked) return figure.unpacked;
  const columns = figure.data.map(unpack);
  figure.unpacked = Array.from({ length: figure.rows }, (_, i) => {
    const row = {};
    figure.columns.forEach((column, c) => { row[column.name] = columns[c][i]; });
    return row;
  });
  return figure.unpacked;
}

// Different values of a column, in the order in which they come.
function different(rows, column) {
  return [...new Set(rows.map((row) => row[column]))];
}
