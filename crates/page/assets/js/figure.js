// A figure: its controls, its panels, and their drawing.
// Choices of the same column are one choice for all charts: they begin at the page's row and move together.
const shared = new Map(Object.entries(page.focus ?? {}));
const figures = [];

// The choices of a figure, each among the rows that those before it leave, and the rows that are left.
function choicesOf(figure) {
  let rows = rowsOf(figure);
  const choices = figure.select.map(([key, words]) => {
    const values = different(rows, key);
    const value = values.includes(shared.get(key)) ? shared.get(key) : values[0];
    rows = rows.filter((row) => row[key] === value);
    const { about } = figure.columns.find((column) => column.name === key);
    return { key, words, about, value, options: values.map((one) => [one, one]) };
  });
  for (const [key, words, options] of charts[figure.kind].choices || []) {
    choices.push({ key, words, options, value: shared.get(key) ?? options[0][0] });
  }
  return { rows, choices };
}

function gradientOf([[from, to], colors]) {
  const box = element("div", undefined, { class: "legend" });
  const bar = element("span");
  bar.style.cssText = `width: 120px; height: 12px; border-radius: 3px; background: linear-gradient(to right, ${colors.join(", ")})`;
  box.append(element("span", from), bar, element("span", to));
  return box;
}

class Drawn {
  constructor(figure, box) {
    [this.figure, this.box, this.views, this.selects, this.turn] = [figure, box, [], new Map(), 0];
    figures.push(this);
  }

  start() {
    const actions = this.box.querySelector(".actions");
    addCsvButton(actions, this.figure);
    actions.append(button("Save SVG", `Save SVG of ${this.figure.title}`, () => this.saveSvg()));
    const values = this.box.querySelector("details.values");
    values.addEventListener("toggle", () => {
      const place = values.querySelector(".place");
      if (values.open && !place.firstChild) place.append(...valuesTable(this.figure));
    });
    return this.draw();
  }

  saveSvg() {
    this.box.querySelectorAll(".panel svg.marks").forEach((svg, i, all) =>
      save(`${this.figure.id}${all.length > 1 ? `-${i + 1}` : ""}.svg`, "image/svg+xml", svgOf(svg)));
  }

  // A control for each choice that there is.
  control(controls, { key, words, about, value, options }) {
    let select = this.selects.get(key);
    if (!select) {
      const id = `${this.figure.id}-${key}`;
      const box = element("div", undefined, { class: "control" });
      const label = labelOf(words, about);
      label.id = `${id}-label`;
      select = element("select", undefined, { id, "aria-label": `${words}: ${this.figure.title}` });
      select.addEventListener("change", () => {
        shared.set(key, select.value);
        for (const one of figures) if (one.selects.has(key)) one.draw();
      });
      box.append(label, select);
      controls.append(box);
      this.selects.set(key, select);
    }
    const shown = [...select.options].map((option) => option.value);
    if (shown.join("\n") !== options.map(([one]) => one).join("\n")) select.replaceChildren(...options.map(([one, text]) => new Option(text, one)));
    select.value = value;
    select.parentElement.hidden = options.length < 2;
  }

  async draw() {
    this.turn += 1;
    const turn = this.turn;
    const { rows, choices } = choicesOf(this.figure);
    const chosen = Object.fromEntries(choices.map(({ key, value }) => [key, value]));
    const chart = charts[this.figure.kind](this.figure, rows, chosen);
    const controls = this.box.querySelector(".controls");
    choices.forEach((choice) => this.control(controls, choice));
    controls.querySelector(".legend")?.remove();
    if (chart.gradient) controls.append(gradientOf(chart.gradient));
    else if (chart.legend.length) controls.append(legendOf(chart.legend));
    const place = this.box.querySelector(".panels");
    const most = Math.max(1, Math.floor((place.clientWidth + 24) / (chart.least || 300)));
    place.style.setProperty("--columns", Math.min(chart.columns || 1, most, chart.panels.length));
    this.views.forEach((view) => view.finalize());
    this.views = [];
    place.replaceChildren(...chart.panels.map((panel) => this.panel(panel)));
    this.width = this.box.clientWidth;
    for (const [i, panel] of chart.panels.entries()) {
      if (panel.numbers) continue;
      await this.embed(panel, place.children[i].querySelector(".view"));
      if (turn !== this.turn) return;
    }
  }

  panel({ title, about, className, numbers }) {
    const box = element("div", undefined, { class: `panel ${className || ""}` });
    if (title) box.append(element("h4", title));
    if (about) box.append(element("p", about));
    if (numbers) {
      box.append(numbersOf(numbers));
      return box;
    }
    const label = [this.figure.title, title, "The values are in the table below."].filter(Boolean).join(". ");
    box.append(element("div", undefined, { class: "view", role: "img", "aria-label": label }));
    return box;
  }

  async embed(panel, place) {
    // What is as high as its rows are many stays so; the rest is lower where the screen is small.
    const height = Math.round((panel.height || 240) * (isSmall() && !panel.whole ? 0.7 : 1));
    const padding = { left: 2, top: 2, bottom: 2, right: 2 + (panel.right || 0) };
    const spec = { ...panel.spec, width: place.clientWidth, height, autosize: { type: "fit", contains: "padding" }, padding };
    const options = { mode: "vega-lite", renderer: "svg", actions: false, ast: true, config, defaultStyle: false,
      tooltip: { theme: "page", disableDefaultStyle: true } };
    try {
      this.views.push(await vegaEmbed(place, spec, options));
      // Its place is the image that has a name; the roles that Vega gives to marks have none.
      place.querySelector("svg.marks").setAttribute("aria-hidden", "true");
    } catch (error) {
      place.replaceChildren(element("p", `This chart could not be drawn: ${error.message}`, { class: "failed" }));
      console.error(error);
    }
  }
}
