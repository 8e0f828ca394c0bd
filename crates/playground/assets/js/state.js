// What is simulated, as the fragment of the address has it: a link is the whole state.
const DEFAULT = {
  machine: "intel-1s56c112t", kernel: "v5.19-rc1", workload: "netperf:TCP_RR", load: "224", base: "SIS_PROP", with: "SIS_UTIL",
  seed: "1", settle: "150ms", time: "120ms", speed: "20",
};

// The state of a fragment, and what of it means nothing. Without `with` there is one side.
function stateOf(fragment) {
  const given = [...new URLSearchParams(fragment.replace(/^#/, ""))];
  if (given.length === 0) return { state: { ...DEFAULT }, unknown: [] };
  const state = { ...DEFAULT, with: null };
  const unknown = given.map(([key]) => key).filter((key) => !(key in DEFAULT));
  for (const [key, value] of given) if (key in DEFAULT) state[key] = value;
  return { state, unknown };
}

function fragmentOf(state) {
  const plain = (text) => encodeURIComponent(text).replace(/%(3A|2C|3D|2F)/g, decodeURIComponent);
  return `#${Object.entries(state).filter(([, value]) => value !== null).map(([key, value]) => `${key}=${plain(value)}`).join("&")}`;
}

const sideNames = (state) => (state.with === null ? ["base"] : ["base", "with"]);

// One side, as the simulator takes it.
function descriptionOf(state, side) {
  const { machine, kernel, workload, load, settle, time } = state;
  return { machine, kernel, workload, load, side: state[side], seed: Number(state.seed), settle, time };
}

// What is wrong with the state that the simulator cannot say: its numbers are those of JavaScript.
function wrongOf(state) {
  if (/^\d{1,15}$/.test(state.seed.trim())) return null;
  return { field: "seed", what: `expected a whole number of at most 15 digits, found "${state.seed}"`, hint: null };
}

// The command that gives the same numbers.
function commandOf(state) {
  const quoted = (text) => (/^[\w.,:%=/+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const words = ["wakelab compare"];
  const other = state.with === null ? state.base : state.with;
  const flags = { ...state, with: other };
  for (const flag of ["machine", "kernel", "workload", "load", "base", "with", "seed", "settle", "time"]) {
    if (flag !== "load" || flags.load.trim() !== "") words.push(`--${flag} ${quoted(flags[flag])}`);
  }
  return words.join(" ");
}

// The switches of a side with a tunable set, or without it.
function withTunable(switches, name, value) {
  const others = wordsOf(switches).filter((word) => !word.startsWith(`${name}=`));
  return (value === null ? others : [...others, `${name}=${value}`]).join(",");
}

// The words of a side that are search policies, or say that one is off.
const isPolicy = (word, policies) => policies.some(([name]) => word === name || word === `NO_${name}`);
const wordsOf = (switches) => switches.split(",").map((word) => word.trim()).filter((word) => word !== "");
const policiesOf = (switches, policies) => wordsOf(switches).filter((word) => isPolicy(word, policies)).join(",");

// The switches of a side with another policy in place of those that it has.
function withPolicy(switches, policy, policies) {
  return [...policy.split(","), ...wordsOf(switches).filter((word) => !isPolicy(word, policies))].filter((word) => word !== "").join(",");
}
