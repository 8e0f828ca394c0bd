// A page in a browser: each check is a line; the first that fails ends the test. What a page does not have is not checked, but
// the sample has all of it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { parseCsv } from "./csv.mjs";

const [file, out] = process.argv.slice(2);
const name = basename(file, ".html");
const sample = name === "sample";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const root = process.getuid?.() === 0;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: root ? ["--no-sandbox"] : [] });
const said = [];
const requests = [];

async function open(width, colorScheme) {
  // Only axe needs this: the page's own policy is held by the first check, without it.
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, bypassCSP: true, acceptDownloads: true });
  return load(await context.newPage());
}

async function load(page) {
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) said.push(message.text()); });
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("request", (request) => { if (!/^(file|blob|data):/.test(request.url())) requests.push(request.url()); });
  await page.goto(`file://${resolve(file)}`);
  await page.waitForSelector("html[data-drawn]", { timeout: 120000 });
  return page;
}

async function check(name, test) {
  await test();
  console.log(`ok  ${name}`);
}

await check("draws under its own policy, without eval and network, and says nothing on the console", async () => {
  const page = await load(await browser.newPage());
  assert.deepEqual(said, []);
  assert.deepEqual(requests, []);
  await page.close();
});

const page = await open(1360, "light");
const has = async (selector) => await page.locator(selector).count() > 0;

await check("all charts are drawn", async () => {
  const empty = await page.$$eval("figure.chart", (figures) => figures.filter((figure) => {
    const panels = [...figure.querySelectorAll(".panel")];
    const marks = (panel) => panel.querySelectorAll("svg .mark-group path, svg .mark-group text, svg path").length;
    return panels.length === 0 || figure.querySelector(".failed") || panels.some((panel) => marks(panel) < 3);
  }).map((figure) => figure.id));
  assert.deepEqual(empty, []);
  const charts = await page.locator("figure.chart").count();
  console.log(`    ${charts} charts`);
  if (sample) assert.ok(charts >= 12);
});

await check("a pointer on a chart shows values", async () => {
  for (const [id, mark, words] of [["reasons-chart", ".mark-rect path", "Wake-ups"], ["heat-chart", ".mark-rect path", "Running, %"]]) {
    if (!sample && !await has(`#${id}`)) continue;
    const spot = page.locator(`#${id} ${mark}`).first();
    await spot.scrollIntoViewIfNeeded();
    await spot.hover({ force: true });
    await page.waitForSelector("#vg-tooltip-element.visible");
    const text = await page.textContent("#vg-tooltip-element");
    assert.ok(text.includes(words) && /\d/.test(text), `${id}: ${text}`);
  }
});

await check("each CSV is the page's data", async () => {
  const data = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent));
  const unpack = (p) => p.plain ?? p.runs?.flatMap(([v, n]) => Array(n).fill(v)) ?? p.words?.[1].map((at) => p.words[0][at])
    ?? Array.from({ length: p.tile[1] }, (_, i) => p.tile[0][i % p.tile[0].length]);
  for (const [i, figure] of data.figures.entries()) {
    // Chromium lets a page save ten files at once.
    if (i % 8 === 7) {
      await page.reload();
      await page.waitForSelector("html[data-drawn]", { timeout: 120000 });
    }
    const button = page.locator(`[id="${figure.id}"] .actions button`).first();
    const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
    const rows = parseCsv(readFileSync(await download.path(), "utf8"));
    const columns = figure.data.map(unpack);
    const expected = Array.from({ length: figure.rows }, (_, i) => columns.map((column) => (column[i] === null ? "" : String(column[i]))));
    assert.deepEqual(rows[0], figure.columns.map((column) => column.name), figure.id);
    assert.deepEqual(rows.slice(1), expected, figure.id);
  }
});

if (await has("#heat-chart")) await check("a choice changes the chart, by keyboard, and keeps the focus", async () => {
  const select = page.locator("#heat-chart select");
  await select.focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => document.querySelector("#heat-chart .legend").textContent.includes("Searching"));
  assert.ok(await select.evaluate((one) => one === document.activeElement));
});

await check("the keyboard reaches links, choices, buttons and tables, and focus is seen", async () => {
  await page.reload();
  await page.waitForSelector("html[data-drawn]", { timeout: 120000 });
  const met = new Set();
  for (let i = 0; i < 120; i++) {
    await page.keyboard.press("Tab");
    const [name, outline] = await page.evaluate(() => [document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle]);
    if (name === "BODY") break;
    met.add(name);
    assert.notEqual(outline, "none", `${name} shows no focus`);
  }
  for (const name of ["A", "SELECT", "SUMMARY", ...(await has(".actions button") ? ["BUTTON"] : [])]) assert.ok(met.has(name), `${name} of ${[...met]}`);
});

for (const [width, scheme] of [[1360, "light"], [1360, "dark"], [360, "light"]]) {
  const page = await open(width, scheme);
  const look = width === 360 ? "phone" : scheme;
  await check(`${look}: no sideways scrolling`, async () => {
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width);
  });
  if (scheme === "dark") await check("dark as the system, and light by choice", async () => {
    const dark = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(await dark(), "rgb(14, 18, 23)");
    await page.selectOption("#theme", "light");
    assert.equal(await dark(), "rgb(255, 255, 255)");
    await page.selectOption("#theme", "auto");
  });
  await check(`${look}: axe has no serious finding`, async () => {
    // One table of values opened stands for all, which are made alike. The heat maps' rectangles are excluded for time:
    // they are within a role of img, as those of the other charts, which are not.
    const values = page.locator("figure.chart:not(#heat-chart) details.values > summary").first();
    const opens = await values.count() > 0;
    if (opens) await values.click();
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run({ exclude: [".heat svg g"] }, { resultTypes: ["violations"] }));
    const bad = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    assert.deepEqual(bad.map(({ id, nodes }) => [id, nodes.length, nodes[0].html.slice(0, 200), nodes[0].failureSummary]), []);
    if (opens) await values.click();
  });
  await page.evaluate(() => scrollTo({ top: 0, behavior: "instant" }));
  await page.screenshot({ path: `${out}/${name}-${look}.png`, fullPage: true });
}

await check("nothing was said on the console, nothing was asked of a network", async () => {
  assert.deepEqual(said, []);
  assert.deepEqual(requests, []);
});
await browser.close();
