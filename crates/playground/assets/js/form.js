// The controls: what they show of the state, and what a person changes.
function fillForm(choices) {
  const option = (value, words) => element("option", words ?? value, { value });
  byId("machine").append(...choices.machines.map(([name, , cpus]) => option(name, `${name} (${cpus} CPUs)`)));
  byId("kernel").append(...choices.kernels.map((name) => option(name)));
  byId("workload").append(...choices.workloads.map(({ name }) => option(name)));
  const list = element("datalist", undefined, { id: "switches" });
  list.append(...[...choices.policies, ...choices.features].map(([name, doc]) => option(name, doc)));
  document.body.append(list);
}

// A name that is not offered, as a link may have it, is shown as it is, so that the simulator says what is wrong with it.
function setSelect(select, value) {
  if (![...select.options].some((option) => option.value === value)) select.append(element("option", value, { value }));
  select.value = value;
}

function showState(state, views, { policies }) {
  for (const name of ["machine", "kernel", "workload"]) setSelect(byId(name), state[name]);
  setSelect(byId("speed"), state.speed);
  for (const name of ["load", "seed", "settle", "time"]) byId(name).value = state[name];
  byId("two").value = state.with === null ? "1" : "2";
  for (const view of views) {
    view.switches.value = state[view.side];
    setSelect(view.policy, policiesOf(state[view.side], policies));
  }
  byId("command").textContent = commandOf(state);
}

// The load's slider: instances up to four times the CPUs, or a rate.
function showLoad(state, choices) {
  const workload = choices.workloads.find(({ name }) => name === state.workload);
  const machine = choices.machines.find(([name]) => name === state.machine);
  const [slider, says] = [byId("load-slider"), byId("load-says")];
  const cpus = machine?.[2] ?? 1;
  const rate = workload?.rate ?? false;
  const most = rate ? 1000 : 4 * cpus;
  slider.disabled = !workload || !machine;
  slider.max = most;
  slider.step = rate ? 10 : Math.max(1, Math.round(cpus / 28));
  slider.min = rate ? 10 : slider.step;
  const load = state.load.trim() === "" ? String(workload?.own_load ?? "") : state.load.trim();
  const number = load.endsWith("%") ? Math.floor(cpus * Number.parseInt(load, 10) / 100) : Number.parseInt(load, 10);
  if (Number.isFinite(number)) slider.value = number;
  const words = rate ? `${number} a second` : `${number} instances, ${(100 * number / cpus).toFixed(0)} % of ${cpus} CPUs`;
  says.textContent = Number.isFinite(number) ? words : "";
  slider.setAttribute("aria-valuetext", says.textContent);
  slider.dataset.unit = rate ? "/s" : "";
}

// What the load is of the run that has begun: some workloads make several tasks of an instance.
function showBegunLoad({ load, cpus }) {
  const words = `${load} on ${cpus.length} CPUs`;
  byId("load-says").textContent = words;
  byId("load-slider").setAttribute("aria-valuetext", words);
}

// Tells of each change: what is new of the state.
function startForm(changed) {
  const form = byId("setup");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", ({ target }) => {
    if (["machine", "kernel", "workload", "load", "seed", "settle", "time"].includes(target.name)) changed({ [target.name]: target.value });
  });
  byId("load-slider").addEventListener("input", ({ target }) => changed({ load: `${target.value}${target.dataset.unit}` }, true));
  byId("two").addEventListener("change", ({ target }) => changed({ with: target.value === "2" ? DEFAULT.with : null }));
  byId("speed").addEventListener("change", ({ target }) => changed({ speed: target.value }));
}

function startSide(view, changed) {
  view.policy.addEventListener("change", () => changed({ [view.side]: withPolicy(view.switches.value, view.policy.value, page.choices.policies) }));
  view.switches.addEventListener("change", () => changed({ [view.side]: view.switches.value }));
  view.slider.addEventListener("input", () => {
    const switches = withTunable(view.switches.value, "sis_util_pct", view.slider.value);
    view.switches.value = switches;
    showLimit(view, Number(view.slider.value));
    changed({ [view.side]: switches }, true);
  });
}

// What is wrong, at the field that is wrong.
function showProblem(problem, side) {
  for (const marked of document.querySelectorAll("[aria-invalid]")) marked.removeAttribute("aria-invalid");
  const box = byId("problem");
  box.hidden = !problem;
  if (!problem) return;
  const at = problem.field === "side" ? byId(`${side}-switches`) : byId(problem.field);
  at?.setAttribute?.("aria-invalid", "true");
  const where = problem.field === "side" ? `${side}: ` : problem.field === "run" ? "" : `${problem.field}: `;
  box.textContent = `${where}${problem.what}${problem.hint ? `\nhint: ${problem.hint}` : ""}`;
}

function showWarnings(warnings) {
  const list = byId("warnings");
  list.hidden = warnings.length === 0;
  list.replaceChildren(...warnings.map((warning) => element("li", warning)));
}
