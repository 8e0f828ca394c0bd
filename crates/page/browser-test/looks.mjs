// What a reader sees at once, and that charts agree: the first screen, names, alignment, choices in step, tooltips.
import assert from "node:assert/strict";

// The first result is on the first screen of 1280 x 800; of a comparison the verdict, its chart and the trust lines
// are.
export async function firstScreen(page) {
  const found = await page.evaluate(() => {
    const ends = (selector) => {
      const box = document.querySelector(selector)?.getBoundingClientRect();
      return box ? [Math.round(box.top + scrollY), Math.round(box.bottom + scrollY)] : null;
    };
    return { result: ends("main figure.chart .panels, main .table .scroll"), verdict: ends(".verdict"), trust: ends(".trust"),
      rows: document.querySelectorAll("#comparison-table tbody tr").length };
  });
  const { result, verdict, trust, rows } = found;
  assert.ok(result && result[0] < 500, `the first result begins at ${result?.[0]} px`);
  if (verdict) assert.ok(verdict[1] < 300 && (!trust || trust[1] < 400), `verdict ${verdict}, trust ${trust}`);
  if (verdict && rows > 0 && rows <= 12) assert.ok(result[1] <= 800, `the chart ends at ${result[1]} px`);
  return `at 1280 x 800 the first result begins at ${result[0]} px and ends at ${result[1]} px`;
}

// Sides are called by their names, and what was run is folded.
export async function named(page) {
  const { text, open } = await page.evaluate(() => ({ text: document.documentElement.textContent, open: document.querySelectorAll(".folded > details[open]").length }));
  assert.ok(!/with against base/.test(text.replace(/\s+/g, " ")), "a side is called with or base");
  assert.equal(open, 0, "sections that should be folded");
  return "sides have names, and what was run is folded";
}

// Charts beside each other have their drawings at one height, and the axes of charts below each other begin together.
export async function aligned(page) {
  const torn = await page.evaluate(() => {
    const bad = [];
    for (const figure of document.querySelectorAll("figure.chart")) {
      const boxes = [...figure.querySelectorAll(".panel .view svg.marks")].map((svg) => {
        const root = svg.querySelector(".mark-group.role-frame.root > g > path.background").getBoundingClientRect();
        return { left: root.left - svg.getBoundingClientRect().left, top: root.top, bottom: root.bottom, panel: svg.closest(".panel").getBoundingClientRect().top };
      });
      for (const one of boxes) for (const other of boxes) {
        const beside = Math.abs(one.panel - other.panel) < 1;
        if (beside && Math.abs(one.bottom - other.bottom) > 1.5) bad.push([figure.id, "bottom", one.bottom, other.bottom]);
        if (Math.abs(one.left - other.left) > 1.5 && figure.id !== "search-chart") bad.push([figure.id, "left", one.left, other.left]);
      }
    }
    return bad;
  });
  assert.deepEqual(torn, []);
  return "charts beside and below each other are aligned";
}

// A choice of the same column is the same in all charts, at the start and after a change.
export async function inStep(page) {
  const state = () => page.evaluate(() => {
    const { focus } = JSON.parse(document.getElementById("data").textContent);
    const selects = [...document.querySelectorAll(".control:not([hidden]) select")];
    return { focus, selects: selects.map((one) => [one.id.slice(one.id.lastIndexOf("-") + 1), one.id, one.value, one.options.length]) };
  });
  const begun = await state();
  for (const key of ["case", "load"]) {
    for (const [of, id, value] of begun.selects) if (of === key && begun.focus) assert.equal(value, begun.focus[key], `${id} begins elsewhere`);
  }
  const first = begun.selects.find(([key]) => ["load", "case", "show"].includes(key));
  if (!first) return null;
  const [key, id, value] = first;
  const other = await page.locator(`[id="${id}"] option`).evaluateAll((all, now) => all.map((one) => one.value).find((one) => one !== now), value);
  await page.selectOption(`[id="${id}"]`, other);
  const changed = (await state()).selects.filter(([of]) => of === key);
  for (const [, which, now] of changed) assert.equal(now, other, `${which} did not follow ${id}`);
  await page.waitForFunction(() => [...document.querySelectorAll(".panel")].every((one) => one.querySelector("svg.marks, .numbers")));
  await page.selectOption(`[id="${id}"]`, value);
  return `${changed.length} choices of a ${key} begin at the largest change and move together`;
}

// What a label means is shown when the keyboard comes to it, beside it, without a script having to say so, and goes
// again.
export async function tooltips(page) {
  const terms = page.locator("main section:not(.folded) button.term");
  const all = await terms.count();
  assert.ok(all > 0, "a label that the glossary knows");
  for (const at of [...new Set([0, Math.floor(all / 2), all - 1])]) {
    const term = terms.nth(at);
    if (!await term.isVisible()) continue;
    await term.focus();
    // The focus scrolls the label into view, and the next frame moves the text to the side where there is room.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const shown = await term.evaluate((one) => {
      const tip = document.getElementById(one.getAttribute("aria-describedby"));
      const [box, of] = [tip.getBoundingClientRect(), one.getBoundingClientRect()];
      const inside = box.left >= -1 && box.right <= innerWidth + 1 && box.top >= -1 && box.bottom <= innerHeight + 1;
      const near = Math.abs(box.top - of.bottom) < 40 || Math.abs(of.top - box.bottom) < 40;
      const on = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
      return { visible: getComputedStyle(tip).display !== "none" && box.width > 40, inside, near, above: tip.contains(on), words: tip.textContent.length };
    });
    assert.deepEqual({ ...shown, words: shown.words > 10 }, { visible: true, inside: true, near: true, above: true, words: true }, `the tooltip of label ${at}`);
    await page.keyboard.press("Escape");
    assert.equal(await term.evaluate((one) => getComputedStyle(document.getElementById(one.getAttribute("aria-describedby"))).display), "none");
  }
  return `the keyboard shows what ${all} labels mean`;
}
