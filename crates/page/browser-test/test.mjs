// test.mjs PAGE[=JSON]…: pages in a browser, two at a time. With JSON, the result of the command that made the page,
// the page's CSV is held against that, too. A page's checks stop at the first that fails. MODULES names the folder that
// npm fills, CHROMIUM the browser, PICTURES a folder for pictures, if any are wanted.
import { createRequire } from "node:module";
import { basename, resolve } from "node:path";
import { checks } from "./checks.mjs";

const { chromium } = createRequire(`${process.env.MODULES}/`)("playwright-core");
// Of a busy machine: nothing is asked how fast it is.
const PATIENCE = 300000;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  timeout: PATIENCE,
});

// A page that was opened, with what it says and what it asks a network for.
function opener(file) {
  const told = { said: [], asked: [] };
  const open = async (width, colorScheme, height = 900) => {
    // Without motion a page is where it was asked to be at once: a smooth scroll takes as long as the machine likes.
    const context = await browser.newContext({ viewport: { width, height }, colorScheme, acceptDownloads: true, reducedMotion: "reduce" });
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    page.on("console", (message) => { if (["error", "warning"].includes(message.type())) told.said.push(message.text()); });
    page.on("pageerror", (error) => told.said.push(String(error)));
    page.on("request", (request) => { if (!/^(file|blob|data):/.test(request.url())) told.asked.push(request.url()); });
    await page.goto(`file://${resolve(file)}`);
    await page.waitForSelector("html[data-drawn]", { state: "attached" });
    return page;
  };
  return { open, told };
}

const left = process.argv.slice(2);
let failed = 0;
async function work() {
  while (left.length > 0) {
    const [file, json] = left.shift().split("=");
    const name = basename(file, ".html");
    const lines = [];
    try {
      for await (const line of checks({ ...opener(file), name, json, pictures: process.env.PICTURES })) lines.push(`ok  ${line}`);
    } catch (error) {
      failed += 1;
      lines.push(`FAILED  ${error.stack ?? error}`);
    }
    console.log([`== ${name}`, ...lines].join("\n"));
  }
}
await Promise.all([work(), work()]);
await browser.close();
if (failed > 0) {
  console.error(`${failed} of the pages failed`);
  process.exitCode = 1;
}
