// Elements, numbers and canvases.
function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

const byId = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const percent = (part, all) => (all > 0 ? `${(100 * part / all).toFixed(part === 0 || part === all ? 0 : 1)} %` : "–");
const ms = (ns) => `${(ns / 1e6).toFixed(ns % 1e6 === 0 ? 0 : 1)} ms`;
const us = (ns) => three.format(ns / 1000);

// A canvas as wide as its place, in the screen's own pixels; what draws on it counts in CSS pixels.
function sized(canvas, height) {
  const width = canvas.clientWidth;
  const ratio = globalThis.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    [canvas.width, canvas.height] = [w, h];
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width };
}
