// A label with what it means. The tooltip is shown by the style alone; here only Escape puts it away.
let labels = 0;

function labelOf(text, about) {
  const box = element("span", about ? undefined : text, { class: "word" });
  if (!about) return box;
  labels += 1;
  const id = `word-${labels}`;
  box.append(element("button", text, { type: "button", class: "term", "aria-describedby": id }));
  box.append(element("span", about, { class: "tip", role: "tooltip", id }));
  return box;
}

function startWords() {
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && document.activeElement.classList.contains("term")) document.activeElement.blur();
  });
}
