// The CPUs of a side: a square each, siblings side by side, by LLC.
const CPUS_HEIGHT = 236;
const CELL_MAX = 26;

// Where each CPU is: the largest squares with which all of them fit.
function placeCpus(cpus, width) {
  const llcs = new Map();
  cpus.forEach(([core, llc], cpu) => {
    if (!llcs.has(llc)) llcs.set(llc, new Map());
    const cores = llcs.get(llc);
    if (!cores.has(core)) cores.set(core, []);
    cores.get(core).push(cpu);
  });
  const blocks = [...llcs.values()].map((cores) => [...cores.values()]);
  const threads = Math.max(...blocks.flat().map((core) => core.length));
  const most = Math.max(...blocks.map((cores) => cores.length));
  const label = blocks.length > 1 ? 13 : 0;
  for (let cell = CELL_MAX; ; cell -= cell > 6 ? 1 : 0.5) {
    const gap = cell >= 8 ? 3 : cell >= 4 ? 1.5 : 1;
    const inner = cell >= 8 ? 1 : 0.5;
    const coreWidth = threads * cell + (threads - 1) * inner + gap;
    for (let beside = 1; beside <= blocks.length; beside++) {
      const blockWidth = width / beside;
      const columns = Math.min(most, Math.floor((blockWidth - (beside > 1 ? 10 : 0) + gap) / coreWidth));
      const blockHeight = Math.ceil(most / Math.max(1, columns)) * (cell + gap) + label;
      const height = Math.ceil(blocks.length / beside) * (blockHeight + (label ? 4 : 0));
      if (columns < 1 || (height > CPUS_HEIGHT && cell > 2)) continue;
      const places = [];
      const labels = [];
      blocks.forEach((cores, block) => {
        const [left, top] = [(block % beside) * blockWidth, Math.floor(block / beside) * (blockHeight + 4)];
        if (label) labels.push([`LLC of CPU ${Math.min(...cores.flat())}`, left, top + 10, blockWidth - 6]);
        cores.forEach((core, at) => core.forEach((cpu, thread) => {
          const x = left + (at % columns) * coreWidth + thread * (cell + inner);
          places[cpu] = [x, top + label + Math.floor(at / columns) * (cell + gap)];
        }));
      });
      return { places, labels, cell, height: Math.max(height, 40), width };
    }
  }
}

function drawCpus(view) {
  const { canvas, frame, begun } = view;
  if (canvas.clientWidth === 0) return;
  if (!view.places || view.places.width !== canvas.clientWidth) view.places = placeCpus(begun.cpus, canvas.clientWidth);
  const { places, labels, cell, height } = view.places;
  const { context } = sized(canvas, height);
  context.font = "10px system-ui, sans-serif";
  context.fillStyle = palette.muted;
  for (const [text, x, y, width] of labels) if (width > 60) context.fillText(text, x, y, width);
  if (!frame) return;
  const { doing, reason, queue } = frame.cpus;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = `600 ${Math.min(12, cell * 0.62)}px system-ui, sans-serif`;
  places.forEach(([x, y], cpu) => {
    const does = doing[cpu];
    const idle = does === "i" || does === "e";
    const [colour, ink] = idle ? [palette.nothing, palette.fg] : does === "s" ? [palette.bg, palette.fg] : reasonColour(reason[cpu]);
    context.fillStyle = colour;
    context.fillRect(x, y, cell, cell);
    // A frame is told from a full square without its colour, too.
    const border = does === "s" ? Math.max(1, cell / 8) : idle ? 1 : 0;
    if (border > 0) {
      context.strokeStyle = { s: palette.ring, e: palette.muted, i: palette.line }[does];
      context.lineWidth = border;
      context.strokeRect(x + border / 2, y + border / 2, cell - border, cell - border);
      context.lineWidth = 1;
    }
    const waiting = queue[cpu] - (idle ? 0 : 1);
    if (waiting > 0 && cell >= 11) {
      context.fillStyle = ink;
      context.fillText(waiting > 9 ? "+" : waiting, x + cell / 2, y + cell / 2 + 0.5);
    } else if (waiting > 0) {
      context.fillStyle = ink;
      context.fillRect(x + 0.5, y + cell - Math.min(cell - 1, waiting) - 0.5, Math.max(1, cell / 4), Math.min(cell - 1, waiting));
    }
  });
  context.textAlign = "left";
  context.textBaseline = "alphabetic";
  if (view.looksAt !== null) {
    const [x, y] = places[view.looksAt];
    context.strokeStyle = palette.fg;
    context.lineWidth = 2;
    context.strokeRect(x - 1, y - 1, cell + 2, cell + 2);
    context.lineWidth = 1;
  }
}

// One CPU in words.
function cpuWords(view, cpu) {
  const { doing, task, reason, queue } = view.frame.cpus;
  const does = { i: "idle", e: "entering or leaving idle", s: "searches for a CPU", r: "runs", k: "in the kernel" }[doing[cpu]];
  const name = task[cpu] < 0 ? "" : `, ${view.names[task[cpu]]}`;
  const why = task[cpu] < 0 || reason[cpu] < 0 ? "" : `, put there by ${view.reasons[reason[cpu]][0]}`;
  const waiting = queue[cpu] - (task[cpu] < 0 ? 0 : 1);
  return `CPU ${cpu}: ${does}${name}${why}${waiting > 0 ? `, ${waiting} waiting` : ""}`;
}

// All CPUs in words.
function allWords(view) {
  const { doing, queue, task } = view.frame.cpus;
  const count = (letters) => [...doing].filter((one) => letters.includes(one)).length;
  const waiting = queue.reduce((sum, n, cpu) => sum + Math.max(0, n - (task[cpu] < 0 ? 0 : 1)), 0);
  return `Of ${doing.length} CPUs ${count("ie")} are idle, ${count("s")} search, ${count("rk")} run tasks; ${waiting} tasks wait.`;
}

// A pointer on the CPUs, or the arrow keys, choose the one that is told of.
function startLooking(view, told) {
  const { canvas } = view;
  const look = (cpu) => { view.looksAt = cpu; told(); };
  canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => {
    if (!view.places) return;
    const { places, cell } = view.places;
    const at = places.findIndex(([x, y]) => offsetX >= x - 1 && offsetX < x + cell + 1 && offsetY >= y - 1 && offsetY < y + cell + 2);
    if (at >= 0 && at !== view.looksAt) look(at);
  });
  canvas.addEventListener("pointerleave", () => look(null));
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return look(null);
    if (!view.places || !event.key.startsWith("Arrow")) return undefined;
    event.preventDefault();
    const { places } = view.places;
    if (view.looksAt === null) return look(0);
    const [x, y] = places[view.looksAt];
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    // The nearest one in that direction, what lies aside counting twice.
    const far = ([px, py]) => {
      const [ahead, aside] = dx ? [(px - x) * dx, Math.abs(py - y)] : [(py - y) * dy, Math.abs(px - x)];
      return ahead < 1 ? Infinity : ahead + 2 * aside;
    };
    const best = places.reduce((best, place, cpu) => (far(place) < far(places[best]) ? cpu : best), view.looksAt);
    return far(places[best]) < Infinity ? look(best) : undefined;
  });
}
