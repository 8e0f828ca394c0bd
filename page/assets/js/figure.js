// A figure: its controls, its panels, and their drawing.
function choose(figure, chosen, redraw) {
  const controls = [];
  const add = (key, words, options) => {
    const label = element("label", `${words} `);
    const select = element("select");
    for (const [value, text] of options) select.append(new Option(text, value));
    chosen[key] = options[0][0];
    select.addEventListener("change", () => { chosen[key] = select.value; redraw(); });
    label.append(select);
    controls.push(label);
  };
  for (const [column, words] of figure.select) {
    const values = different(rowsOf(figure), column);
    if (values.length > 1) add(column, words, values.map((value) => [value, value]));
  }
  for (const [key, words, options] of charts[figure.kind].choices || []) add(key, words, options);
  return controls;
}

function gradientOf([from, to, color]) {
  const box = element("div", undefined, { class: "legend" });
  const bar = element("span");
  bar.style.cssText = `width: 120px; height: 12px; border-radius: 3px; background: linear-gradient(to right, var(--nothing), ${color})`;
  box.append(element("span", from), bar, element("span", to));
  return box;
}

class Drawn {
  constructor(figure, box) {
    [this.figure, this.box, this.chosen, this.views] = [figure, box, {}, []];
    this.controls = choose(figure, this.chosen, () => this.draw());
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

  rows() {
    const columns = this.figure.select.map(([column]) => column).filter((column) => column in this.chosen);
    return rowsOf(this.figure).filter((row) => columns.every((column) => row[column] === this.chosen[column]));
  }

  async draw() {
    const chart = charts[this.figure.kind](this.figure, this.rows(), this.chosen);
    const controls = this.box.querySelector(".controls");
    const focused = controls.contains(document.activeElement) ? document.activeElement : null;
    const legend = chart.gradient ? gradientOf(chart.gradient) : legendOf(chart.legend);
    if (!controls.firstChild) controls.append(...this.controls);
    controls.querySelector(".legend")?.remove();
    controls.append(legend);
    focused?.focus();
    const place = this.box.querySelector(".panels");
    const most = Math.max(1, Math.floor((place.clientWidth + 24) / 300));
    place.style.setProperty("--columns", Math.min(chart.columns || 1, most, chart.panels.length));
    this.views.forEach((view) => view.finalize());
    this.views = [];
    place.replaceChildren(...chart.panels.map((panel) => this.panel(panel)));
    for (const [i, panel] of chart.panels.entries()) await this.embed(panel, place.children[i].querySelector(".view"));
    this.width = this.box.clientWidth;
  }

  panel({ title, about, className }) {
    const box = element("div", undefined, { class: `panel ${className || ""}` });
    if (title) box.append(element("h4", title));
    if (about) box.append(element("p", about));
    const label = [this.figure.title, title, "The values are in the table below."].filter(Boolean).join(". ");
    box.append(element("div", undefined, { class: "view", role: "img", "aria-label": label }));
    return box;
  }

  async embed(panel, place) {
    const spec = { ...panel.spec, width: place.clientWidth, height: panel.height || 240, autosize: { type: "fit", contains: "padding" }, padding: 2 };
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
