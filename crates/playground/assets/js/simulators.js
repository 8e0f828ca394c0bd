// The simulator, unpacked from the page, and a worker for each side that runs it.
async function compileModule() {
  const packed = Uint8Array.from(atob(document.getElementById("module").textContent.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

class Simulator {
  constructor(module) {
    const source = new Blob([document.getElementById("worker").textContent], { type: "text/javascript" });
    const address = URL.createObjectURL(source);
    this.worker = new Worker(address);
    this.last = Promise.resolve();
    this.ready = this.ask({ module }).finally(() => URL.revokeObjectURL(address));
  }

  // The worker answers one question after another. One that has been ended never answers.
  ask(question) {
    const answer = this.last.then(() => new Promise((resolve) => {
      this.worker.onmessage = ({ data }) => resolve(data);
      this.worker.onerror = (event) => {
        event.preventDefault();
        resolve({ error: { field: "run", what: `the simulator's worker failed: ${event.message}`, hint: null } });
      };
      this.worker.postMessage(question);
    }));
    this.last = answer;
    return answer;
  }

  end() {
    this.worker.terminate();
  }
}
