// The simulator in a worker of its own: one run, which ends with the worker.
"use strict";
let sim, at = 0, slice = 250000;

function text(bytes) {
  return JSON.parse(new TextDecoder().decode(new Uint8Array(sim.memory.buffer, sim.answer(), bytes)));
}

// Calls the module. An answer is { ok } or { error }; a failure of the simulator is an error, too.
function call(name, ...args) {
  try {
    return text(sim[name](...args));
  } catch (failure) {
    const told = text(sim.answered());
    return told.error ? told : { error: { field: "run", what: String(failure), hint: null } };
  }
}

function start(description) {
  const bytes = new TextEncoder().encode(JSON.stringify(description));
  // First the room, then the memory: making room may move it.
  const room = sim.input(bytes.length);
  new Uint8Array(sim.memory.buffer, room, bytes.length).set(bytes);
  return call("start");
}

// Goes on up to a time, ns, for about so many ms of wall time. A slice of simulated time takes a few ms.
function step(to, budget) {
  const until = performance.now() + budget;
  for (;;) {
    const began = performance.now();
    const done = call("advance", Math.min(at + slice, to));
    if (done.error) return done;
    at = done.ok.at_ns;
    const now = performance.now();
    if (now - began < 2) slice = Math.min(slice * 2, 20000000);
    if (now - began > 6) slice = Math.max(slice / 2, 10000);
    if (done.ok.over || at >= to || now >= until) break;
  }
  return call("frame");
}

async function answerTo(data) {
  if (data.module) {
    sim = (await WebAssembly.instantiate(data.module, {})).exports;
    return { ok: true };
  }
  if (data.choices) return call("choices");
  if (data.start) return start(data.start);
  if (data.step) return step(data.step.to, data.step.budget);
  return call("finish");
}

// Every question has an answer, so that the page says what failed and does not wait.
onmessage = async ({ data }) => {
  try {
    postMessage(await answerTo(data));
  } catch (failure) {
    postMessage({ error: { field: "run", what: String(failure), hint: null } });
  }
};
