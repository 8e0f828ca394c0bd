# Sourced by what tests pages in a browser: crates/page/browser-test/run, crates/playground/browser-test/run. Sets
# CHROMIUM, the browser, MODULES, the folder with Playwright and axe, and work, a folder that goes away; not_run WHY
# ends where something is missing, as WAKELAB_BROWSER says.
tested=$(basename "$(dirname "$(dirname "$(realpath "$0")")")")/browser-test
case ${WAKELAB_BROWSER:-} in
    0) echo "$tested: not run: WAKELAB_BROWSER is 0" >&2; exit 77 ;;
    '' | 1) ;;
    *) echo "WAKELAB_BROWSER: expected 0 (not run), 1 (run or a failure), or nothing, found '$WAKELAB_BROWSER'" >&2; exit 2 ;;
esac
not_run() {
    echo "$tested: not run: $1" >&2
    if [ "${WAKELAB_BROWSER:-}" = 1 ]; then exit 1; fi
    exit 77
}
major=$(node --version 2>/dev/null | sed -nE 's/^v([0-9]+).*/\1/p')
[ "${major:-0}" -ge 20 ] || not_run "node 20 or newer is missing"
export CHROMIUM=${CHROMIUM:-/usr/bin/chromium}
[ -x "$CHROMIUM" ] || not_run "no browser at $CHROMIUM; hint: apt install chromium, or name one in CHROMIUM"

packages=$(dirname "${BASH_SOURCE[0]}")
cache=${WAKELAB_BROWSER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/wakelab/browser}
work=$(mktemp -d -t wakelab-browser-XXXXXX)
trap 'rm -rf "$work"' EXIT
# One folder for each list of packages, which is there when it is whole.
MODULES=$cache/$(sha256sum "$packages/package-lock.json" | cut -c 1-16)
export MODULES
if [ ! -e "$MODULES" ]; then
    command -v npm >/dev/null || not_run "npm is missing"
    mkdir -p "$cache"
    fetched=$(mktemp -d "$cache/.fetch-XXXXXX")
    cp "$packages/package.json" "$packages/package-lock.json" "$fetched"
    if ! (cd "$fetched" && timeout -k 10 300 npm ci --no-audit --no-fund --ignore-scripts >"$work/said" 2>&1); then
        rm -rf "$fetched"
        not_run "npm: $(grep -m 1 'npm error' "$work/said" || tail -n 1 "$work/said")"
    fi
    mv -T "$fetched" "$MODULES" 2>/dev/null || rm -rf "$fetched"
fi
