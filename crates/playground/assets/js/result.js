// The numbers of runs that are over, as `wakelab compare` has them.
const RESULT_ROWS = [
  ["Wake-up latency p50, us", ({ stats }) => stats.wakeup_latency.p50 / 1000],
  ["Wake-up latency p99, us", ({ stats }) => stats.wakeup_latency.p99 / 1000],
  ["Searches that the fast path ended, %", ({ stats: { search } }) => 100 * (search.sis_search - search.sis_domain_search) / search.sis_search],
  ["Run queues looked at per search", ({ stats: { search } }) => search.sis_scanned / search.sis_search],
  ["Searches that fail, %", ({ stats: { search } }) => 100 * search.sis_failed / search.sis_search],
  ["Busy us per wake-up", ({ stats }) => (stats.busy_ns_per_wakeup ?? NaN) / 1000],
  ["Idle, %", ({ stats }) => stats.idle_pct],
  ["Migrations by balancing", ({ stats }) => stats.migrations],
];

function showResult(views, results) {
  const { begun } = views[0];
  const table = element("table");
  table.append(element("caption", `${begun.load} on ${begun.machine}, ${begun.kernel}, seed ${begun.seed} of this run, measured from ${ms(begun.settle_ns)} on`));
  const [head, body] = [element("tr"), element("tbody")];
  head.append(element("th", "", { scope: "col" }), ...views.map((view) => element("th", view.title, { scope: "col", class: "num" })));
  if (views.length > 1) head.append(element("th", "difference", { scope: "col", class: "num" }));
  const row = (title, values, texts) => {
    const made = element("tr");
    made.append(element("th", title, { scope: "row" }), ...texts.map((text) => element("td", text, { class: "num" })));
    if (views.length > 1) {
      // A share has a difference in points: a per cent of a per cent says little.
      const points = title.endsWith(", %");
      const change = points ? values[1] - values[0] : 100 * (values[1] / values[0] - 1);
      const sign = change < 0 ? "\u2212" : "+";
      made.append(element("td", Number.isFinite(change) ? `${sign}${Math.abs(change).toFixed(1)}${points ? " points" : " %"}` : "–", { class: "num" }));
    }
    body.append(made);
  };
  const values = results.map(({ value }) => value);
  const metric = begun.metric[0].toUpperCase() + begun.metric.slice(1);
  row(`${metric}, ${begun.unit} (${begun.higher_is_better ? "higher" : "lower"} is better)`, values,
    values.map((value) => (value >= 100 ? whole : three).format(value)));
  for (const [title, of] of RESULT_ROWS) {
    const some = results.map(of);
    row(title, some, some.map((value) => (Number.isFinite(value) ? three.format(value) : "–")));
  }
  const header = element("thead");
  header.append(head);
  table.append(header, body);
  const box = element("div", undefined, { class: "scroll", role: "region", tabindex: "0", "aria-label": "Result" });
  box.append(table);
  byId("result-table").replaceChildren(box);
  byId("result-says").textContent = views.length > 1
    ? "One run per side, which cannot tell a difference from chance: the command below with --repeat 3 gives a verdict. Without it, it gives these numbers."
    : "One run. The command below gives these numbers for both sides.";
}
