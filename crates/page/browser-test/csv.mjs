// CSV as RFC 4180 has it, read on its own, so that a mistake of the page's writer is seen.
export function parseCsv(text) {
  const rows = [[]];
  let field = "";
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c === '"' && text[i + 1] === '"') { field += '"'; i++; }
      else if (c === '"') quoted = false;
      else field += c;
    } else if (c === '"') quoted = true;
    else if (c === ",") { rows.at(-1).push(field); field = ""; }
    else if (c === "\r" && text[i + 1] === "\n") { rows.at(-1).push(field); field = ""; rows.push([]); i++; }
    else field += c;
  }
  return rows.slice(0, -1);
}
