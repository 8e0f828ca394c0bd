// A side: its switches and their slider, its CPUs, its numbers. `view` is all that is known of it.
function makeView(side, at, { reasons, policies }) {
  const article = element("article", undefined, { class: "side", id: side, "aria-labelledby": `${side}-title` });
  article.style.setProperty("--color", `var(--s${at})`);
  const view = { side, at: 0, article, reasons, names: [], bins: [], frame: null, begun: null, over: false, looksAt: null, fps: 0 };

  const head = element("div", undefined, { class: "head" });
  view.heading = element("h2", side, { id: `${side}-title` });
  view.badge = element("span", "", { class: "state", hidden: "" });
  head.append(view.heading, view.badge);

  const knobs = element("div", undefined, { class: "knobs" });
  const policy = element("div", undefined, { class: "field" });
  view.policy = element("select", undefined, { id: `${side}-policy` });
  view.policy.append(element("option", "the kernel\u2019s own", { value: "" }), ...policies.map(([name, does]) => element("option", name, { value: name, title: does })));
  policy.append(element("label", `Search policy of ${side}`, { for: `${side}-policy` }), view.policy);
  const field = element("div", undefined, { class: "field" });
  view.switches = element("input", undefined, { id: `${side}-switches`, name: side, list: "switches", spellcheck: "false" });
  field.append(element("label", `All switches of ${side}`, { for: `${side}-switches` }), view.switches);
  const limit = element("div", undefined, { class: "field" });
  const pair = element("div", undefined, { class: "pair" });
  view.slider = element("input", undefined, { id: `${side}-pct`, type: "range", min: "100", max: "200", step: "1" });
  view.pct = element("output", "", { for: `${side}-pct` });
  pair.append(view.slider, view.pct);
  limit.append(element("label", "SIS_UTIL\u2019s limit (sis_util_pct)", { for: `${side}-pct` }), pair);
  knobs.append(policy, field, limit);

  view.canvas = element("canvas", undefined, { class: "cpus", role: "img", tabindex: "0", "aria-label": `CPUs of ${side}` });
  view.says = element("p", "", { class: "at" });
  [view.numbers, view.titles] = [{}, {}];
  const list = element("dl", undefined, { class: "numbers" });
  for (const [name, title] of NUMBERS) {
    const pairOf = element("div");
    view.numbers[name] = element("dd", "–");
    pairOf.append(element("dt", title), view.numbers[name]);
    view.titles[name] = pairOf.firstChild;
    list.append(pairOf);
  }
  const box = element("div", undefined, { class: "reasons" });
  view.stack = element("div", undefined, { class: "stack", "aria-hidden": "true" });
  view.shares = element("ul", undefined, { "aria-label": `Reasons of ${side}` });
  box.append(element("p", "Wake-ups of the last 5 ms, by the reason for their CPU"), view.stack, view.shares);
  article.append(head, knobs, view.canvas, view.says, list, box);
  startLooking(view, () => { drawCpus(view); tellCpus(view); });
  return view;
}

const NUMBERS = [
  ["done", "Throughput"], ["p50", "Wake-up p50, us"], ["p99", "Wake-up p99, us"],
  ["util", "LLC utilisation"], ["scan", "nr_idle_scan"], ["wakeups", "Wake-ups per ms"],
  ["fast", "Ended by the fast path"], ["probes", "Run queues per search"], ["failed", "Searches that fail"],
];

// What a side's slider of SIS_UTIL's limit shows: of the run, or of what is typed.
function showLimit(view, pct) {
  view.slider.disabled = pct === null;
  if (pct !== null) view.slider.value = pct;
  view.pct.textContent = pct === null ? "not read" : `${pct}: ${(10000 / pct).toFixed(0)} %`;
  view.slider.setAttribute("aria-valuetext", pct === null ? "not read by this side" : `${pct}, which is a utilisation of ${(10000 / pct).toFixed(0)} per cent`);
}

function begin(view, begun) {
  view.begun = begun;
  view.title = `${view.side}: ${view.switches.value.trim() || begun.kernel}`;
  view.heading.textContent = view.title;
  showLimit(view, begun.sis_util_pct);
}

// Takes over what a frame brings.
function takeFrame(view, frame) {
  view.frame = frame;
  view.at = frame.at_ns;
  view.over = frame.over;
  view.names.push(...frame.names);
  view.bins.push(...frame.bins);
  view.steps = [...(view.steps ?? []), { at: frame.at_ns, step: frame.step }].filter(({ at }) => at > frame.at_ns - 5e6);
}

// The sums of the steps of the last 5 ms.
function lastSteps(view) {
  const sum = { reasons: view.reasons.map(() => 0), noChoice: 0, search: 0, domain: 0, scanned: 0, failed: 0 };
  for (const { step } of view.steps) {
    step.reasons.forEach((n, at) => { sum.reasons[at] += n; });
    sum.noChoice += step.no_choice;
    sum.search += step.search.sis_search;
    sum.domain += step.search.sis_domain_search;
    sum.scanned += step.search.sis_scanned;
    sum.failed += step.search.sis_failed;
  }
  return sum;
}

function tellCpus(view) {
  if (!view.frame) return;
  view.says.textContent = view.looksAt === null ? allWords(view) : cpuWords(view, view.looksAt);
}

function showNumbers(view) {
  const { frame, begun, bins, numbers } = view;
  if (!frame) return;
  const { state, changes, latency, llcs, done } = frame;
  view.badge.hidden = false;
  view.badge.className = `state ${state}`;
  const last = changes.at(-1);
  view.badge.textContent = last ? `${state} since ${ms(last.at_ns)}` : state;

  const measuring = frame.at_ns > begun.settle_ns && begun.settle_ns >= 0;
  const since = measuring ? begun.settle_ns : 0;
  const rate = frame.at_ns > since ? done[measuring ? 1 : 0] * 1e9 / (frame.at_ns - since) : 0;
  view.titles.done.textContent = measuring ? "Throughput, measured" : "Throughput, settling";
  numbers.done.textContent = `${short.format(rate)}/s`;
  numbers.p50.textContent = latency[0] > 0 ? us(latency[1]) : "–";
  numbers.p99.textContent = latency[0] > 0 ? us(latency[2]) : "–";
  const weight = llcs.reduce((sum, llc) => sum + llc.weight, 0);
  const mean = (of) => llcs.reduce((sum, llc) => sum + of(llc) * llc.weight, 0) / weight;
  numbers.util.textContent = `${(100 * mean((llc) => llc.util)).toFixed(0)} %`;
  const scans = llcs.map((llc) => llc.nr_idle_scan);
  const [least, most] = [Math.min(...scans), Math.max(...scans)];
  numbers.scan.textContent = scans[0] === null ? "not used" : `${least === most ? least : `${least}–${most}`} of ${llcs[0].weight}`;
  const some = sumOf(bins.slice(-5));
  numbers.wakeups.textContent = bins.length > 0 ? short.format(some.wakeups / (some.bins * begun.bin_ns / 1e6)) : "–";
  const sum = lastSteps(view);
  numbers.fast.textContent = percent(sum.search - sum.domain, sum.search);
  numbers.probes.textContent = sum.search > 0 ? three.format(sum.scanned / sum.search) : "–";
  numbers.failed.textContent = percent(sum.failed, sum.search);
  showReasons(view, sum);
  tellCpus(view);
  view.canvas.setAttribute("aria-label", `CPUs of ${view.side}. ${allWords(view)} Arrow keys choose one.`);
}

function showReasons(view, sum) {
  const all = sum.reasons.reduce((a, b) => a + b, 0);
  const shares = sum.reasons.map((n, at) => [n, at]).filter(([n]) => n > 0);
  const bars = shares.map(([n, at]) => {
    const bar = element("i");
    bar.style.width = `${100 * n / all}%`;
    [bar.style.background] = reasonColour(at);
    return bar;
  });
  const items = [...shares].sort((a, b) => b[0] - a[0]).map(([n, at]) => {
    const item = element("li");
    item.append(swatch(reasonColour(at)[0]), `${view.reasons[at][0]} ${percent(n, all)}`);
    return item;
  });
  view.stack.replaceChildren(...bars);
  view.shares.replaceChildren(...items);
}

function swatch(colour, edge, width = 1) {
  const made = element("span", undefined, { class: "swatch" });
  made.style.background = colour;
  if (edge) made.style.border = `${width}px solid ${edge}`;
  return made;
}

// The legends, of CPUs and of lines.
function showLegends(views, reasons) {
  const item = (words, ...swatches) => {
    const made = element("li", undefined, { class: swatches.length > 1 ? "many" : "" });
    made.append(...swatches, words);
    return made;
  };
  const ofKind = (kind) => reasons.map(([, of], at) => [of, at]).filter(([of]) => of === kind).map(([, at]) => swatch(reasonColour(at)[0]));
  byId("legend").replaceChildren(
    item("idle", swatch(palette.nothing, palette.line)), item("entering or leaving idle", swatch(palette.nothing, palette.muted)),
    item("searching", swatch(palette.bg, palette.ring, 2)),
    item("Runs a task that found"), ...["fast", "found", "fall_back"].map((kind) => item(KINDS[kind], ...ofKind(kind))),
    item(`or was placed ${KINDS.other}`, ...ofKind("other")),
    item("A number: tasks that wait there."),
  );
  byId("strip-legend").replaceChildren(...views.map((view, at) => {
    const made = element("li");
    const line = element("span");
    line.style.cssText = `display:inline-block;width:26px;margin-right:6px;vertical-align:3px;border-top:2px ${at ? "dashed" : "solid"} ${sideColour(at)}`;
    made.append(line, view.title);
    return made;
  }));
}
