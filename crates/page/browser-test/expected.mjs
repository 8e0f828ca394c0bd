// Charts that a page must have, in their order, by the page's name.
const OF_RUNS = ["migrations-chart", "heat-chart", "heat-difference-chart", "llc-chart"];
const SEARCHES = ["search-chart", "search-cost-chart"];
const POWER = ["time-0-frequency", "time-1-idle-states", "time-2-power"];

export const CHARTS = {
  sample: ["comparison-chart", "values-chart", "power-chart", "reasons-chart", "causes-chart", "latency-chart", ...SEARCHES, "regret-chart", ...OF_RUNS, "time-0-frequency", "time-1-idle-states"],
  matrix: ["comparison-chart"],
  survey: ["comparison-chart"],
  run: ["comparison-chart", "values-chart", "reasons-chart", "latency-chart", ...SEARCHES, ...OF_RUNS],
  compare: ["comparison-chart", "values-chart", "reasons-chart", "latency-chart", ...SEARCHES, "regret-chart", ...OF_RUNS],
  power: ["comparison-chart", "power-chart", "reasons-chart", "latency-chart", "heat-chart", "heat-difference-chart", "llc-chart", ...POWER],
  "stats-simulated": ["reasons-chart", "latency-chart", "search-chart", "migrations-chart", "heat-chart", "llc-chart"],
  "stats-recorded": ["reasons-chart", "migrations-chart"],
  waits: ["causes-chart", "latency-chart"],
  explain: ["reasons-chart"],
  summary: ["reasons-chart"],
  replay: ["reasons-chart"],
  conform: ["reasons-chart"],
  reproduce: ["comparison-chart", "search-chart"],
};

// So high is a page on a screen of 375 px at most: half of what it was when each section stood open, one below the
// other.
export const HEIGHT_OF_A_PHONE = { compare: 10741 };
