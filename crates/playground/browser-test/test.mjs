// test.mjs PAGE WAKELAB: the page in a browser. MODULES names the folder that npm fills, CHROMIUM the browser, PICTURES
// a folder for pictures, if any are wanted. Nothing is asked how fast it is.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { numbersOf, program } from "./program.mjs";

const require = createRequire(`${process.env.MODULES}/`);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const [file, wakelab] = process.argv.slice(2);
const address = `file://${resolve(file)}`;
const PATIENCE = 300000;
const SMALL = { machine: "test-8c", kernel: "v5.19-rc1", workload: "netperf:TCP_RR", load: "16", base: "SIS_PROP", with: "SIS_UTIL", seed: "1", settle: "60ms", time: "40ms", speed: "max" };
const link = (state) => `${address}#${new URLSearchParams(Object.entries(state).filter(([, value]) => value !== null))}`;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  timeout: PATIENCE,
});

const told = [];
async function open(where, { width = 1280, colorScheme = "light", reducedMotion = "no-preference" } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, reducedMotion });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) told.push(message.text()); });
  page.on("pageerror", (error) => told.push(String(error)));
  page.on("request", (request) => { if (!/^(file|blob|data):/.test(request.url())) told.push(`asked for ${request.url()}`); });
  await page.goto(where);
  await begun(page);
  return page;
}
const begun = (page) => page.waitForSelector("html[data-begun]", { state: "attached" });
const over = (page) => page.waitForSelector("html[data-over]", { state: "attached" });
// `page` there is the page's own, of its scripts.
const stateOf = (shown) => shown.evaluate(() => ({ ...page.state }));
const resultsOf = async (shown) => (await shown.evaluate(() => page.results)).map(numbersOf);
const close = (shown) => shown.context().close();

async function accessible(shown) {
  await shown.evaluate(axe);
  const { violations } = await shown.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const bad = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  assert.deepEqual(bad.map(({ id, nodes }) => [id, nodes.length, nodes[0].html.slice(0, 200), nodes[0].failureSummary]), []);
}

async function fits(shown, look) {
  const [width, screen] = await shown.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(width <= screen, `${look}: ${width} px wide on a screen of ${screen}`);
}

const checks = {
  "is one file of less than 3 MB": async () => {
    assert.ok(statSync(file).size < 3e6, `${statSync(file).size} bytes`);
  },

  "runs its default, in which one side falls into the other state and the other does not": async () => {
    const shown = await open(address);
    assert.deepEqual(await stateOf(shown), {
      machine: "intel-1s56c112t", kernel: "v5.19-rc1", workload: "netperf:TCP_RR", load: "224", base: "SIS_PROP", with: "SIS_UTIL",
      seed: "1", settle: "150ms", time: "120ms", speed: "20",
    });
    await shown.selectOption("#speed", "max");
    await shown.waitForSelector("#with .state.stacked");
    assert.equal(await shown.textContent("#with .state"), "stacked since 50 ms");
    assert.equal(await shown.textContent("#base .state"), "migrating");
    await shown.click("#play");
    // What the CPUs show: found idle on one side, fallen back on the other.
    const kinds = await shown.evaluate(() => page.views.map((view) => {
      const count = { fast: 0, found: 0, fall_back: 0, other: 0 };
      for (const at of view.frame.cpus.reason) if (at >= 0) count[view.reasons[at][1]] += 1;
      return count;
    }));
    assert.ok(kinds[0].fast + kinds[0].found > 3 * kinds[0].fall_back, JSON.stringify(kinds));
    assert.ok(kinds[1].fall_back > 3 * (kinds[1].fast + kinds[1].found), JSON.stringify(kinds));
    const drawn = await shown.$$eval("canvas", (all) => all.map((one) => {
      const { data } = one.getContext("2d").getImageData(0, 0, one.width, one.height);
      const colours = new Set();
      for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 0) colours.add(`${data[at]},${data[at + 1]},${data[at + 2]}`);
      return colours.size;
    }));
    assert.equal(drawn.length, 6);
    assert.ok(drawn.every((colours) => colours >= 3), `colours of each canvas: ${drawn}`);
    for (const [width, look] of [[1280, "wide"], [800, "middle"], [375, "narrow"]]) {
      for (const colorScheme of ["light", "dark"]) {
        await shown.setViewportSize({ width, height: 900 });
        await shown.emulateMedia({ colorScheme });
        await fits(shown, look);
        await accessible(shown);
        if (process.env.PICTURES) await shown.screenshot({ path: `${process.env.PICTURES}/${width}-${colorScheme}.png`, fullPage: true });
      }
    }
    await close(shown);
  },

  "gives the program's numbers, shows them, and a link gives them again": async () => {
    const shown = await open(link(SMALL));
    await over(shown);
    const results = await resultsOf(shown);
    assert.deepEqual(results, program(wakelab, SMALL));
    const table = await shown.textContent("#result-table");
    const throughput = results.map(({ value }) => Math.round(value).toLocaleString("en"));
    for (const number of throughput) assert.ok(table.includes(number), `${number} in ${table}`);
    const command = await shown.textContent("#command");
    assert.equal(command, "wakelab compare --machine test-8c --kernel v5.19-rc1 --workload netperf:TCP_RR --load 16 --base SIS_PROP --with SIS_UTIL --seed 1 --settle 60ms --time 40ms");
    await shown.click("#values > summary");
    // The table is made after the click.
    await shown.locator("#values-table tbody tr").nth(9).waitFor({ state: "attached" });
    assert.ok(await shown.locator("#values-table tbody tr").count() >= 10);
    await accessible(shown);
    // Another seed and another limit, by the controls; then the link of that.
    await shown.fill("#seed", "5");
    await shown.press("#seed", "Enter");
    await shown.fill("#with-switches", "SIS_UTIL, sis_util_pct=140");
    await shown.press("#with-switches", "Enter");
    await shown.waitForFunction(() => page.views[1]?.begun?.sis_util_pct === 140 && page.results !== null);
    const [changed, state, where] = [await resultsOf(shown), await stateOf(shown), shown.url()];
    assert.notDeepEqual(changed, results);
    const again = await open(where);
    await over(again);
    assert.deepEqual(await stateOf(again), state);
    assert.deepEqual(await resultsOf(again), changed);
    assert.deepEqual(changed, program(wakelab, state));
    await close(again);
    await close(shown);
  },

  "has sliders for the load and the limit, by keyboard": async () => {
    const shown = await open(link({ ...SMALL, speed: "20" }));
    await shown.focus("#load-slider");
    for (let press = 0; press < 3; press++) await shown.keyboard.press("ArrowRight");
    assert.equal(await shown.inputValue("#load"), "19");
    await shown.waitForFunction(() => page.views.every((view) => view.begun?.load === "19 threads" && view.frame));
    assert.ok(shown.url().includes("load=19"), shown.url());
    await shown.focus("#with-pct");
    for (let press = 0; press < 8; press++) await shown.keyboard.press("ArrowRight");
    assert.equal(await shown.inputValue("#with-switches"), "SIS_UTIL,sis_util_pct=125");
    await shown.waitForFunction(() => page.views[1].begun?.sis_util_pct === 125 && page.views[1].frame);
    assert.ok(shown.url().includes("with=SIS_UTIL,sis_util_pct=125"), shown.url());
    assert.ok(await shown.isDisabled("#base-pct"), "SIS_PROP reads no limit");
    assert.ok(await shown.isEnabled("#with-pct"));
    assert.ok((await shown.textContent("#command")).includes("--load 19 --base SIS_PROP --with SIS_UTIL,sis_util_pct=125"));
    await close(shown);
  },

  "has policies to choose from, in place of the one that a side has": async () => {
    const shown = await open(link({ ...SMALL, with: "SIS_UTIL,sis_util_pct=130", speed: "20" }));
    assert.equal(await shown.inputValue("#with-policy"), "SIS_UTIL");
    await shown.selectOption("#with-policy", "SIS_UTIL_V2");
    await shown.waitForFunction(() => page.views[1].begun?.policies.includes("SIS_UTIL_V2") && page.views[1].frame);
    assert.equal(await shown.inputValue("#with-switches"), "SIS_UTIL_V2,sis_util_pct=130");
    await shown.selectOption("#with-policy", "");
    await shown.waitForFunction(() => page.views[1].begun?.policies.includes("SIS_PROP") && page.views[1].frame);
    assert.equal(await shown.inputValue("#with-switches"), "sis_util_pct=130");
    // What is typed and not offered is shown as it is.
    await shown.fill("#with-switches", "NO_SIS_PROP");
    await shown.press("#with-switches", "Enter");
    await shown.waitForFunction(() => page.views[1].begun?.policies.includes("SIS_PROP") === false && page.views[1].frame);
    assert.equal(await shown.inputValue("#with-policy"), "NO_SIS_PROP");
    await close(shown);
  },

  "pauses, steps, and shows one side, unless motion is asked for": async () => {
    const shown = await open(link({ ...SMALL, with: null }), { reducedMotion: "reduce" });
    assert.equal(await shown.textContent("#play"), "Play");
    assert.equal(await shown.locator(".side").count(), 1);
    const at = () => shown.evaluate(() => page.views.map((view) => view.at));
    assert.deepEqual(await at(), [0]);
    for (const ms of [1e6, 2e6]) {
      await shown.click("#step");
      await shown.waitForFunction((ms) => page.views[0].at === ms, ms);
    }
    await shown.focus("#base canvas");
    await shown.keyboard.press("ArrowRight");
    await shown.keyboard.press("ArrowRight");
    assert.match(await shown.textContent("#base .at"), /^CPU \d+: /);
    await shown.keyboard.press("Escape");
    assert.match(await shown.textContent("#base .at"), /^Of 8 CPUs \d+ are idle/);
    await shown.click("#play");
    await over(shown);
    assert.deepEqual(await resultsOf(shown), program(wakelab, { ...SMALL, with: null }).slice(0, 1));
    await close(shown);
  },

  "says what is wrong in the program's words, at the field, and goes on": async () => {
    const shown = await open(link({ ...SMALL, machine: "test-8x", nonsense: "1" }));
    assert.match(await shown.textContent("#problem"), /^machine: test-8x: there is no machine of that name; did you mean `test-8c`/);
    assert.equal(await shown.getAttribute("#machine", "aria-invalid"), "true");
    await accessible(shown);
    await shown.selectOption("#machine", "test-8c");
    await over(shown);
    assert.ok(await shown.isHidden("#problem"));
    for (const [field, text, says] of [
      ["#load", "many", /^load: "many" in "many" is not a load/],
      ["#with-switches", "SIS_UTILL", /^with: .*did you mean `SIS_UTIL`/],
      ["#settle", "5", /^settle: expected a time in ns, us, ms or s/],
      ["#seed", "x", /^seed: expected a whole number/],
    ]) {
      const before = await shown.inputValue(field);
      await shown.fill(field, text);
      await shown.press(field, "Enter");
      await shown.waitForFunction(([field]) => document.querySelector(field).getAttribute("aria-invalid") === "true", [field]);
      assert.match(await shown.textContent("#problem"), says);
      await shown.fill(field, before);
      await shown.press(field, "Enter");
      await shown.waitForFunction(() => document.getElementById("problem").hidden);
    }
    await over(shown);
    await close(shown);
  },

  "is reached by keyboard, with a focus that is seen": async () => {
    const shown = await open(link({ ...SMALL, speed: "20" }), { reducedMotion: "reduce" });
    const met = new Set();
    for (let i = 0; i < 60; i++) {
      await shown.keyboard.press("Tab");
      const [id, outline] = await shown.evaluate(() => [document.activeElement.id || document.activeElement.className || document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle]);
      if (id === "BODY") break;
      met.add(id);
      assert.notEqual(outline, "none", `${id} shows no focus`);
    }
    for (const id of ["theme", "machine", "kernel", "workload", "load", "load-slider", "seed", "settle", "time", "two", "play", "step", "restart", "speed", "link", "base-policy", "base-switches", "with-policy", "with-switches", "with-pct", "cpus", "SUMMARY", "command"]) {
      assert.ok(met.has(id), `${id} of ${[...met].join(", ")}`);
    }
    await shown.selectOption("#theme", "dark");
    assert.equal(await shown.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(14, 18, 23)");
    await close(shown);
  },
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    assert.deepEqual(told.splice(0), [], "the console, and what was asked of a network");
    console.log(`ok  the page ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  the page ${name}\n${error.stack ?? error}`);
  }
}
await browser.close();
if (failed > 0) {
  console.error(`${failed} checks failed`);
  process.exitCode = 1;
}
