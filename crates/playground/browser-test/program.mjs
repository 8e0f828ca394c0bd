// What the program says of the state of a page, a side each, and the same numbers of a run of the module.
import { execFileSync } from "node:child_process";

const OTHERS = ["busy_ns_per_wakeup", "migrations", "idle_pct", "rq_lock_pct", "switches_involuntary", "llc_util"];
const only = (object, names) => Object.fromEntries(names.map((name) => [name, object[name]]));
const SEARCH = ["sis_search", "sis_domain_search", "sis_scanned", "sis_failed", "select_idle_cpu_ns"];

export function program(wakelab, state) {
  const flags = Object.entries({ ...state, with: state.with ?? state.base })
    .filter(([name, value]) => name !== "speed" && !(name === "load" && value === ""))
    .flatMap(([name, value]) => [`--${name}`, value]);
  const text = execFileSync(wakelab, ["compare", "--repeat", "1", "--no-cache", "--quiet", "--format", "json", ...flags], { encoding: "utf8", maxBuffer: 1 << 26 });
  const [row] = JSON.parse(text).rows;
  return [row.base, row.with].map((side) => ({
    value: side.values[0],
    search: only(side.search, SEARCH),
    latency: only(side.latency_ns, ["p50", "p99"]),
    wakeup_latency: only(side.wakeup_latency_ns, ["p50", "p95", "p99", "max"]),
    seed: side.states[0].seed,
    changes: side.states[0].changes,
    ...only(side, OTHERS),
  }));
}

export function numbersOf({ value, stats }) {
  return {
    value,
    search: { ...only(stats.search, SEARCH), select_idle_cpu_ns: stats.select_idle_cpu_ns },
    latency: only(stats.latency, ["p50", "p99"]),
    wakeup_latency: only(stats.wakeup_latency, ["p50", "p95", "p99", "max"]),
    ...only(stats, ["seed", "changes", ...OTHERS]),
  };
}
