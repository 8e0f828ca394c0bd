// Light, dark, or as the system. What is drawn with the style's own colours follows by itself; `changed` is for the rest.
function startTheme(changed = () => {}) {
  const choice = document.getElementById("theme");
  const root = document.documentElement;
  let kept = null;
  try { kept = localStorage.getItem("wakelab-theme"); } catch { /* pages from disk may have no storage */ }
  if (["auto", "light", "dark"].includes(kept)) root.dataset.theme = choice.value = kept;
  choice.addEventListener("change", () => {
    root.dataset.theme = choice.value;
    try { localStorage.setItem("wakelab-theme", choice.value); } catch { /* as above */ }
    changed();
  });
}
