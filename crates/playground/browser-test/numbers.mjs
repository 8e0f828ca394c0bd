// numbers.mjs MODULE WAKELAB: the module under node gives the numbers of the program, to the digit, whatever its steps.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { numbersOf, program } from "./program.mjs";

const [file, wakelab] = process.argv.slice(2);
const module = await WebAssembly.compile(readFileSync(file));
assert.deepEqual(WebAssembly.Module.imports(module), [], "it needs nothing of the page");

async function run(state, side, step) {
  const { exports: sim } = await WebAssembly.instantiate(module, {});
  const read = (bytes) => {
    const answer = JSON.parse(new TextDecoder().decode(new Uint8Array(sim.memory.buffer, sim.answer(), bytes)));
    assert.ok(answer.ok, JSON.stringify(answer));
    return answer.ok;
  };
  const { machine, kernel, workload, load, seed, settle, time } = state;
  const request = new TextEncoder().encode(JSON.stringify({ machine, kernel, workload, load, side: state[side], seed: Number(seed), settle, time }));
  const room = sim.input(request.length);
  new Uint8Array(sim.memory.buffer, room, request.length).set(request);
  read(sim.start());
  for (let at = step; !read(sim.advance(at)).over; at += step) read(sim.frame());
  return numbersOf(read(sim.finish()));
}

const small = { machine: "test-8c", kernel: "v5.19-rc1", workload: "netperf:TCP_RR", load: "200%", base: "SIS_PROP", with: "SIS_UTIL", seed: "1", settle: "60ms", time: "40ms" };
const runs = [
  small,
  // A machine of two LLCs and processes, the governors of a phone, a power model, and a limit that is set.
  { ...small, machine: "amd-zen3-2s64c128t", kernel: "v7.2", workload: "hackbench:process-pipe", load: "2", base: "", with: "NO_SIS_UTIL", settle: "5ms", time: "10ms", seed: "3" },
  { ...small, machine: "pixel6", kernel: "v5.18-eas", workload: "netperf:TCP_RR", load: "50%", base: "", with: "RUNNABLE_BOOST", settle: "20ms", time: "20ms" },
  { ...small, machine: "i7-2600k", kernel: "v6.12", base: "governor=schedutil", with: "sis_util_pct=140", settle: "20ms", time: "20ms", seed: "999999999999999" },
  // Of the page's own default, the beginning with the change of state.
  { ...small, machine: "intel-1s56c112t", load: "224", settle: "80ms", time: "10ms" },
];
for (const state of runs) {
  const expected = program(wakelab, state);
  for (const [at, side] of ["base", "with"].entries()) {
    const [even, odd] = [await run(state, side, 1e6), await run(state, side, 3777777)];
    assert.deepEqual(even, expected[at], `${side} of ${JSON.stringify(state)}`);
    assert.deepEqual(odd, expected[at], `${side} of ${JSON.stringify(state)}, other steps`);
  }
  console.log(`ok  ${state.workload} ${state.load} on ${state.machine}, ${state.kernel}: the program's numbers`);
}
