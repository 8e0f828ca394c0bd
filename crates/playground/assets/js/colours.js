// Colours are those of all pages of the program, as custom properties of the style sheet (`wakelab_page::colour`): cool where an
// idle CPU was found, warm where the search was not made or found nothing, grey where a rule placed the task.
const KINDS = {
  fast: "an idle CPU, without a search", found: "an idle CPU, by a search", fall_back: "no idle CPU: not searched, or in vain", other: "by a rule",
};

let palette = {};
// Also of each reason, in the simulator's order: its colour, and what can be read on that.
let reasonColours = [];
function readPalette(reasons) {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["bg", "fg", "muted", "line", "s0", "s1", "nothing", "ring", "card"];
  palette = Object.fromEntries(names.map((name) => [name, value(name)]));
  reasonColours = reasons.map(([name]) => [value(`k-${name}`), value(`k-${name}-ink`)]);
}

const sideColour = (at) => palette[`s${at}`];
// Of a task that no wake-up has placed, too.
const reasonColour = (at) => (at < 0 ? [palette.muted, palette.bg] : reasonColours[at]);

// What is drawn is drawn again with the colours of another theme.
function followTheme(redraw) {
  const changed = () => { readPalette(page.choices?.reasons ?? []); redraw(); };
  startTheme(changed);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  readPalette(page.choices?.reasons ?? []);
}
