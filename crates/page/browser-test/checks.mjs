// What is checked of a page. Each check that is passed is a line. What a page does not have is not checked, but the
// sample has all of it, and the pages of commands say in expected.mjs what they must have.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { parseCsv } from "./csv.mjs";
import { CHARTS, HEIGHT_OF_A_PHONE } from "./expected.mjs";
import { aligned, firstScreen, inStep, named, tooltips } from "./looks.mjs";
import { hovers } from "./hover.mjs";
import { sameAsJson } from "./json.mjs";

const axe = readFileSync(createRequire(`${process.env.MODULES}/`).resolve("axe-core/axe.min.js"), "utf8");
const drawn = (page) => page.waitForSelector("html[data-drawn]", { state: "attached" });

export async function* checks({ open, told, name, json, pictures }) {
  const page = await open(1360, "light");
  const has = async (selector) => await page.locator(selector).count() > 0;
  assert.deepEqual(told, { said: [], asked: [] });
  yield "draws under its own policy, without eval and network, and says nothing on the console";

  const must = CHARTS[name] ?? [];
  const charts = await page.$$eval("figure.chart", (figures) => figures.map((figure) => figure.id));
  assert.deepEqual(charts.filter((id) => must.includes(id)), must, "charts that must be there");
  const empty = await page.$$eval("figure.chart", (figures) => figures.filter((figure) => {
    const panels = [...figure.querySelectorAll(".panel")];
    const marks = (panel) => panel.querySelectorAll("svg .mark-group path, svg .mark-group text, svg path").length;
    const shows = (panel) => panel.querySelector(".numbers") || marks(panel) >= 3;
    return panels.length === 0 || figure.querySelector(".failed") || !panels.every(shows);
  }).map((figure) => figure.id));
  assert.deepEqual(empty, []);
  yield `all ${charts.length} charts are drawn`;

  const drawings = await page.$$eval("figure.chart", (figures) => figures.filter((one) => one.querySelector("svg.marks")).map((one) => one.id));
  for (const id of drawings) await hovers(page, id);
  yield `a pointer on each of ${drawings.length} drawings shows values`;

  const screen = await open(1280, "light", 800);
  yield await firstScreen(screen);
  yield await named(screen);
  yield await aligned(screen);
  const step = await inStep(screen);
  if (step) yield step;
  yield await tooltips(screen);
  await screen.context().close();

  const data = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent));
  const csv = await saved(page, data);
  yield `each of ${csv.size} CSV files is the page's data`;
  if (json) yield sameAsJson(name, csv, JSON.parse(readFileSync(json, "utf8")), data.sides);

  if (await has("#heat-chart")) {
    const select = page.locator("#heat-chart select");
    await select.focus();
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => document.querySelector("#heat-chart .legend").textContent.includes("searching"));
    assert.ok(await select.evaluate((one) => one === document.activeElement));
    yield "a choice changes the chart, by keyboard, and keeps the focus";
  }
  await keyboard(page, await has(".actions button"));
  yield "the keyboard reaches links, choices, buttons and tables, and focus is seen";

  const narrow = await open(375, "light", 667);
  const height = await narrow.evaluate(() => document.documentElement.scrollHeight);
  const most = HEIGHT_OF_A_PHONE[name];
  if (most) assert.ok(height <= most, `${height} px high on a screen of 375, expected ${most} at most`);
  await narrow.context().close();
  yield `on a screen of 375 px it is ${height} px high`;

  const phone = await open(360, "light");
  for (const look of ["light", "dark", "phone"]) {
    const shown = look === "phone" ? phone : page;
    if (look !== "phone") await page.emulateMedia({ colorScheme: look });
    if (look === "dark") yield await dark(page);
    const width = await shown.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(width[0] <= width[1], `${look}: ${width[0]} px wide on a screen of ${width[1]}`);
    await accessible(shown);
    yield `${look}: no sideways scrolling, and axe has no serious finding`;
    await shown.evaluate(() => scrollTo({ top: 0, behavior: "instant" }));
    if (pictures) await shown.screenshot({ path: `${pictures}/${name}-${look}.png`, fullPage: true });
  }

  yield await printed(page);

  assert.deepEqual(told, { said: [], asked: [] });
  yield "nothing was said on the console, nothing was asked of a network";
  for (const one of [page, phone]) await one.context().close();
}

// Every CSV by the id of its chart or table.
async function saved(page, data) {
  const unpack = (p) => p.plain ?? p.runs?.flatMap(([v, n]) => Array(n).fill(v)) ?? p.words?.[1].map((at) => p.words[0][at])
    ?? Array.from({ length: p.tile[1] }, (_, i) => p.tile[0][i % p.tile[0].length]);
  const found = new Map();
  await unfold(page);
  for (const [i, figure] of data.figures.entries()) {
    // Chromium lets a page save ten files at once.
    if (i % 8 === 7) {
      await page.reload();
      await drawn(page);
      await unfold(page);
    }
    const button = page.locator(`[id="${figure.id}"] .actions button`).first();
    const [download] = await Promise.all([page.waitForEvent("download"), button.click()]);
    const rows = parseCsv(readFileSync(await download.path(), "utf8"));
    const columns = figure.data.map(unpack);
    const expected = Array.from({ length: figure.rows }, (_, i) => columns.map((column) => (column[i] === null ? "" : String(column[i]))));
    assert.deepEqual(rows[0], figure.columns.map((column) => column.name), figure.id);
    assert.deepEqual(rows.slice(1), expected, figure.id);
    found.set(figure.id, rows.slice(1).map((row) => Object.fromEntries(rows[0].map((name, i) => [name, row[i]]))));
  }
  return found;
}

// Opens what is folded but for the tables of values.
const unfold = (page) => page.$$eval(".folded > details, .lines > details, nav > details", (all) => all.forEach((one) => { one.open = true; }));

async function keyboard(page, buttons) {
  await page.reload();
  await drawn(page);
  const met = new Set();
  for (let i = 0; i < 120; i++) {
    await page.keyboard.press("Tab");
    const [name, outline] = await page.evaluate(() => [document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle]);
    if (name === "BODY") break;
    met.add(name);
    assert.notEqual(outline, "none", `${name} shows no focus`);
  }
  for (const name of ["A", "SELECT", "SUMMARY", ...(buttons ? ["BUTTON"] : [])]) assert.ok(met.has(name), `${name} of ${[...met]}`);
}

async function dark(page) {
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await back(), "rgb(14, 18, 23)");
  await page.selectOption("#theme", "light");
  assert.equal(await back(), "rgb(255, 255, 255)");
  await page.selectOption("#theme", "auto");
  return "dark as the system, and light by choice";
}

// On paper of A4 with its margins, of a page that is dark on the screen.
async function printed(page) {
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await page.setViewportSize({ width: 718, height: 1047 });
  const found = await page.evaluate(() => {
    const style = (one) => getComputedStyle(one);
    const shown = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility()).length;
    const inks = ["path", "rect", "text"].flatMap((mark) => [...document.querySelectorAll(`figure.chart svg ${mark}`)]);
    const wide = inks.filter((ink) => ink.getBoundingClientRect().right > innerWidth + 1);
    return {
      paper: style(document.body).backgroundColor,
      controls: shown("nav, .theme, .actions, .values"),
      torn: [...document.querySelectorAll("figure.chart")].filter((one) => style(one).breakInside !== "avoid").map((one) => one.id),
      wide: [...new Set(wide.map((ink) => ink.closest("figure").id))],
    };
  });
  assert.deepEqual(found, { paper: "rgb(255, 255, 255)", controls: 0, torn: [], wide: [] });
  return "printed, it is light, without controls, and no chart is torn or wider than the paper";
}

async function accessible(page) {
  // One table of values opened stands for all, which are made alike. The heat maps' rectangles are excluded for time:
  // they are within a role of img, as those of the other charts, which are not.
  const values = page.locator("figure.chart:not(#heat-chart) details.values > summary").first();
  const opens = await values.count() > 0;
  if (opens) await values.click();
  await unfold(page);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run({ exclude: [".heat svg g"] }, { resultTypes: ["violations"] }));
  const bad = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  assert.deepEqual(bad.map(({ id, nodes }) => [id, nodes.length, nodes[0].html.slice(0, 200), nodes[0].failureSummary]), []);
  if (opens) await values.click();
}
