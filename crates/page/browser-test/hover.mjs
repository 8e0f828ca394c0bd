// A pointer goes from mark to mark of a chart until one tells its values.
import assert from "node:assert/strict";

const MARKS = ["rect", "symbol", "arc", "rule", "line"].map((kind) => `.mark-${kind} path, .mark-${kind} line`).join(", ");
// Marks that are tried, and how long each is waited for, ms: a tooltip that comes later comes with the next.
const [TRIED, WAIT] = [40, 500];

export async function hovers(page, id) {
  const chart = page.locator(`[id="${id}"]`);
  await chart.locator(".panel").first().scrollIntoViewIfNeeded();
  const places = await chart.locator(".panels").evaluate((panels, marks) => {
    const seen = [...panels.querySelectorAll(marks)].map((mark) => mark.getBoundingClientRect());
    const inside = (at) => at.x > 0 && at.x < innerWidth && at.y > 0 && at.y < innerHeight;
    return seen.map((box) => ({ x: box.x + box.width / 2, y: box.y + box.height / 2 })).filter(inside);
  }, MARKS);
  assert.ok(places.length > 0, `${id}: no mark is in sight`);
  const every = Math.max(1, Math.floor(places.length / TRIED));
  for (let round = 0; round < 3; round++) {
    for (const { x, y } of places.filter((_, i) => i % every === 0)) {
      await page.mouse.move(x - 3, y - 3);
      await page.mouse.move(x, y);
      const shown = await page.waitForSelector("#vg-tooltip-element.visible", { timeout: WAIT }).catch(() => null);
      if (shown) {
        const text = await page.textContent("#vg-tooltip-element");
        assert.match(text, /\d/, `${id}: ${text}`);
        await page.mouse.move(1, 1);
        return;
      }
    }
  }
  assert.fail(`${id}: no mark tells its values`);
}
