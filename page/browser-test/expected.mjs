// Charts that a page must have, in their order, by the page's name.
const OF_RUNS = ["latency-chart", "reasons-chart", "migrations-chart", "heat-chart", "llc-chart"];
const POWER = ["time-0-frequency", "time-1-idle-states", "time-2-power"];

export const CHARTS = {
  sample: ["comparison-chart", "search-chart", "search-cost-chart", ...OF_RUNS, "time-0-frequency", "time-1-idle-states", "regret-chart"],
  run: ["comparison-chart", "search-chart", "search-cost-chart", ...OF_RUNS],
  compare: ["comparison-chart", "search-chart", "search-cost-chart", ...OF_RUNS, "regret-chart"],
  power: ["comparison-chart", "latency-chart", "reasons-chart", "heat-chart", "llc-chart", ...POWER],
  "stats-simulated": ["search-chart", ...OF_RUNS],
  "stats-recorded": ["reasons-chart", "migrations-chart"],
  summary: ["reasons-chart"],
  replay: ["reasons-chart"],
  conform: ["reasons-chart"],
  reproduce: ["comparison-chart", "search-chart"],
};
