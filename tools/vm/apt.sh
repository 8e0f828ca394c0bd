# Sourced by what fetches: Debian's suites, by the mirror that this machine's apt uses. Lists and packages stay in the
# cache, so that the machine's apt is not changed. Sets `cache`, `apt`, `mirror` and `options`. All of it takes bounded
# time, and what cannot be had here ends the script with 125.
me=$(basename "$here")/$(basename "$0")
die() { printf "$me: %s\\n" "$@" >&2; exit 2; }
unavailable() { printf "$me: %s\\n" "$@" >&2; exit 125; }
cache="${WAKELAB_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/wakelab/vm}"
apt="$cache/apt"

# One script at a time changes the cache.
lock() {
    mkdir -p "$cache"
    exec 9>"$cache/.lock"
    flock -w 900 9 || unavailable "another has held $cache/.lock for a quarter of an hour"
}

# Debian's own archive by what its lists say of themselves; a machine without lists still has its sources.
mirrors() {
    apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian'
    apt-get --print-uris update | sed -nE "s#^'([^']+)/dists/.*#\1#p" | { grep -v -e security -e cloud || true; }
}

use_apt() {
    command -v apt-get >/dev/null || unavailable "apt-get is missing" "  hint: $1"
    local found keys=/usr/share/keyrings/debian-archive-keyring.gpg
    found=$(mirrors 2>/dev/null || true)
    mirror=${found%%$'\n'*}
    [ -n "$mirror" ] || unavailable "apt names no mirror" "  hint: it needs a source of Debian, in /etc/apt/sources.list or sources.list.d"
    mkdir -p "$apt/lists/partial" "$apt/archives/partial"
    for suite in bullseye bookworm bookworm-backports trixie trixie-backports; do
        echo "deb [signed-by=$keys] $mirror $suite main"
    done >"$apt/sources.list"
    options=(-o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt" -o APT::Sandbox::User=root
        -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false
        -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 -o Acquire::Retries=2)
}

# A mirror need not have every suite: what counts is whether one has the package.
update() {
    echo "$me: fetching package lists from $mirror" >&2
    timeout -k 5 180 apt-get "${options[@]}" -qq update >&2 ||
        echo "$me: not all package lists could be fetched from $mirror" >&2
}

# Packages, unpacked into the folder `tree` of the working directory.
get() {
    local deb
    timeout -k 5 300 apt-get "${options[@]}" -qq download "$@" >&2 || return 1
    for deb in *.deb; do dpkg-deb -x "$deb" tree && rm -f "$deb" || return 1; done
}
