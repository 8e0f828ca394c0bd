// The run: its sides go on in step, and what they do is drawn.
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const page = { state: null, choices: null, module: null, views: [], run: 0, playing: !calm.matches, results: null, drawnAt: 0, loop: 0 };

// How long a worker simulates before the page is drawn again, ms.
const budget = () => (calm.matches ? 200 : 28);

function draw(all) {
  for (const view of page.views) if (view.begun) drawCpus(view);
  const now = performance.now();
  if (!all && now - page.drawnAt < 180) return;
  page.drawnAt = now;
  const views = page.views.filter((view) => view.begun);
  if (views.length !== page.views.length || views.length === 0) return;
  views.forEach(showNumbers);
  drawStrips(views);
  const at = Math.min(...views.map((view) => view.at));
  const until = spanOf(views);
  byId("clock").textContent = `${ms(Math.floor(at / 1e5) * 1e5)} of ${views[0].begun.until_ns < 3.6e12 ? ms(until) : "the whole run"}`;
  byId("progress").value = views.every((view) => view.over) ? 1 : at / until;
  if (byId("values").open && (all || !page.playing)) byId("values-table").replaceChildren(valuesTable(views));
}

function tell(words) {
  byId("said").textContent = words;
}

// Says so when the state of a side has changed.
function tellChanges() {
  for (const view of page.views) {
    const changes = view.frame?.changes ?? [];
    if (changes.length > (view.told ?? 0)) {
      const { state, at_ns: at } = changes.at(-1);
      view.told = changes.length;
      tell(`${view.title} is ${state} since ${ms(at)}.`);
    }
  }
}

// Ends the run that there is and begins that of the state.
async function restart() {
  const run = ++page.run;
  clearTimeout(page.later);
  for (const view of page.views) view.simulator?.end();
  const { state, choices } = page;
  const looks = new Map(page.views.map((view) => [view.side, view.looksAt]));
  const names = sideNames(state);
  if (page.views.map((view) => view.side).join() !== names.join()) {
    page.views = names.map((side, at) => makeView(side, at, choices));
    for (const view of page.views) startSide(view, change);
    byId("sides").replaceChildren(...page.views.map((view) => view.article));
  }
  for (const view of page.views) {
    Object.assign(view, { at: 0, names: [], bins: [], steps: [], frame: null, over: false, told: 0, places: null, looksAt: looks.get(view.side) ?? null });
  }
  page.results = null;
  delete document.documentElement.dataset.over;
  delete document.documentElement.dataset.begun;
  byId("result-table").replaceChildren();
  byId("values-table").replaceChildren();
  byId("result-says").textContent = "When the run is over, its numbers appear here: those of the command below, digit for digit.";
  tell("");
  showState(state, page.views, choices);
  showLoad(state, choices);
  const wrongHere = wrongOf(state);
  if (wrongHere) return fail(wrongHere);
  const answers = await Promise.all(page.views.map(async (view) => {
    view.simulator = new Simulator(page.module);
    await view.simulator.ready;
    return view.simulator.ask({ start: descriptionOf(state, view.side) });
  }));
  if (run !== page.run) return;
  const wrong = answers.findIndex((answer) => answer.error);
  if (wrong >= 0) return fail(answers[wrong].error, page.views[wrong].side);
  showProblem(null);
  page.views.forEach((view, at) => begin(view, answers[at].ok));
  showBegunLoad(answers[0].ok);
  showLegends(page.views, choices.reasons);
  const ignored = page.unknown.map((key) => `the link has ${key}=, which means nothing here`);
  showWarnings([...new Set([...ignored, ...page.views.flatMap((view) => view.begun.warnings)])]);
  if (!(await goOn(run, 0))) return;
  document.documentElement.dataset.begun = "";
  draw(true);
  play(run);
}

function fail(problem, side) {
  showProblem(problem, side);
  tell("");
  document.documentElement.dataset.begun = "failed";
  page.playing = page.playing && problem.field !== "run";
  showButtons();
}

// All sides go on towards a time, ns, as far as they come within the budget. Returns whether this is still the run.
async function goOn(run, to) {
  const step = { to, budget: budget() };
  const answers = await Promise.all(page.views.map((view) => (view.over ? null : view.simulator.ask({ step }))));
  if (run !== page.run) return false;
  for (const [at, answer] of answers.entries()) {
    const view = page.views[at];
    if (answer?.error) {
      page.playing = false;
      fail(answer.error, view.side);
      return false;
    }
    if (answer) takeFrame(view, answer.ok);
  }
  tellChanges();
  return true;
}

const nextFrame = () => new Promise((resolve) => (calm.matches ? setTimeout(resolve, 250) : requestAnimationFrame(resolve)));

async function play(run) {
  showButtons();
  const loop = ++page.loop;
  let last = performance.now();
  let pace = 1e6;
  while (run === page.run && loop === page.loop && page.playing && !page.views.every((view) => view.over)) {
    await nextFrame();
    if (run !== page.run || loop !== page.loop || !page.playing) return;
    const now = performance.now();
    const wall = Math.min(now - last, 1000);
    last = now;
    const [least, most] = [Math.min, Math.max].map((of) => of(...page.views.filter((view) => !view.over).map((view) => view.at)));
    // Sides are shown at one time: the one that is behind catches up.
    const speed = page.state.speed === "max" ? pace : Number(page.state.speed) * 1000 * wall;
    const to = least < most ? most : least + Math.max(1, Math.round(speed));
    if (!(await goOn(run, to))) return;
    const took = performance.now() - now;
    pace = Math.min(5e7, Math.max(1e4, pace * (took < budget() / 2 ? 1.5 : took > budget() ? 0.7 : 1)));
    draw(false);
    page.frames = (page.frames ?? 0) + 1;
  }
  if (run === page.run && page.views.every((view) => view.over)) await finish(run);
}

// The numbers of a run that is over.
async function finish(run) {
  if (page.results) return;
  const answers = await Promise.all(page.views.map((view) => view.simulator.ask({ finish: true })));
  if (run !== page.run) return;
  page.playing = false;
  draw(true);
  showButtons();
  const wrong = answers.findIndex((answer) => answer.error);
  if (wrong >= 0) return fail(answers[wrong].error, page.views[wrong].side);
  page.results = answers.map((answer) => answer.ok);
  showResult(page.views, page.results);
  tell(`${byId("said").textContent} The run is over.`.trim());
  document.documentElement.dataset.over = "";
}

function showButtons() {
  const over = page.views.length > 0 && page.views.every((view) => view.over);
  byId("play").textContent = page.playing ? "Pause" : "Play";
  byId("play").disabled = over;
  byId("step").disabled = over || page.playing;
}

// A change of the state: the run begins anew, except for its speed. While a slider moves, once it rests for a moment.
function change(what, moves = false) {
  Object.assign(page.state, what);
  page.unknown = [];
  showState(page.state, page.views, page.choices);
  showLoad(page.state, page.choices);
  const fragment = fragmentOf(page.state);
  try { history.replaceState(null, "", fragment); } catch { location.replace(fragment); }
  if ("speed" in what) return;
  page.run += 1;
  if (!calm.matches) page.playing = true;
  clearTimeout(page.later);
  page.later = setTimeout(restart, moves ? 250 : 0);
}

function startButtons() {
  byId("play").addEventListener("click", () => {
    page.playing = !page.playing;
    showButtons();
    if (page.playing) play(page.run);
    else draw(true);
  });
  byId("step").addEventListener("click", async () => {
    const run = page.run;
    const to = Math.max(...page.views.map((view) => view.at)) + 1e6;
    while (page.views.some((view) => !view.over && view.at < to)) if (!(await goOn(run, to))) return;
    draw(true);
    if (page.views.every((view) => view.over)) await finish(run);
    showButtons();
  });
  byId("restart").addEventListener("click", () => {
    page.playing = !calm.matches;
    restart();
  });
  byId("link").addEventListener("click", async () => {
    history.replaceState(null, "", fragmentOf(page.state));
    try {
      await navigator.clipboard.writeText(location.href);
      tell("The link is copied.");
    } catch {
      tell("The address of this page is the link.");
    }
  });
  byId("values").addEventListener("toggle", () => { if (byId("values").open && page.views.every((view) => view.begun)) byId("values-table").replaceChildren(valuesTable(page.views)); });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("sides").focus();
  });
}

async function startPage() {
  followTheme(() => { showLegends(page.views.filter((view) => view.begun), page.choices?.reasons ?? []); draw(true); });
  if (!globalThis.WebAssembly || !globalThis.DecompressionStream) {
    return showProblem({ field: "run", what: "this browser has no WebAssembly or no DecompressionStream; expected one of 2023 or newer" });
  }
  page.module = await compileModule();
  const first = new Simulator(page.module);
  await first.ready;
  const offered = await first.ask({ choices: true });
  first.end();
  if (offered.error) return showProblem(offered.error);
  page.choices = offered.ok;
  readPalette(page.choices.reasons);
  fillForm(page.choices);
  makeStrips(byId("strips"));
  startForm(change);
  startButtons();
  const read = () => {
    const { state, unknown } = stateOf(location.hash);
    Object.assign(page, { state, unknown });
    restart();
  };
  addEventListener("hashchange", read);
  new ResizeObserver(() => draw(true)).observe(byId("sides"));
  read();
}

startPage().catch((failure) => showProblem({ field: "run", what: String(failure) }));
