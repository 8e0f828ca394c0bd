// Start: tables get their buttons, charts are drawn one after the other, so that the page can be read meanwhile.
function markSection() {
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "0px 0px -75% 0px" });
  document.querySelectorAll("main > section").forEach((section) => watcher.observe(section));
}

// A link to a folded section opens it; the list of sections is folded where it would fill the screen.
function startFolds() {
  const open = () => {
    const folded = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)))?.querySelector(":scope > details");
    if (folded) folded.open = true;
  };
  addEventListener("hashchange", open);
  open();
  if (innerWidth <= 900) document.querySelector("nav > details").open = false;
}

async function start() {
  startTheme();
  startWords();
  startFolds();
  markSection();
  const byId = new Map(page.figures.map((figure) => [figure.id, figure]));
  for (const box of document.querySelectorAll("[data-saved]")) addCsvButton(box.querySelector(".actions"), byId.get(box.dataset.saved));
  const drawn = page.figures.filter((figure) => figure.kind !== "table")
    .map((figure) => new Drawn(figure, document.getElementById(figure.id)));
  for (const one of drawn) await one.start();
  document.documentElement.dataset.drawn = "true";
  let timer;
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      for (const one of drawn) if (Math.abs(one.width - one.box.clientWidth) > 8) await one.draw();
    }, 200);
  });
}
start();
