# Sourced by the tests that start guests, after `vm` (the folder of tools/vm/run) and LIMIT, the seconds that all guests
# together may take, were set. What is not there (QEMU, a compiler, a mirror, the kernel, a machine fast enough) is said
# in one line, "not run: ...", and ends with code 77, which ./test counts as skipped. With WAKELAB_VM=1 it is a failure;
# WAKELAB_VM=0 runs nothing.
me=$(realpath --relative-to "$vm/../.." "$0")
case ${WAKELAB_VM:-} in
    0) echo "$me: not run: WAKELAB_VM is 0" >&2; exit 77 ;;
    '' | 1) ;;
    *) echo "WAKELAB_VM: expected 0 (no guests), 1 (guests or a failure), or nothing, found '$WAKELAB_VM'" >&2; exit 2 ;;
esac
work=$(mktemp -d -t wakelab-test-XXXXXX)
trap 'rm -rf "$work"' EXIT
not_run() {
    echo "$me: not run: $1" >&2
    if [ "${WAKELAB_VM:-}" = 1 ]; then exit 1; fi
    exit 77
}
# Runs a script. That it cannot be done here (125) is told by the line that says why; all else that it says goes on.
or_not_run() {
    local code=0
    "$@" 2>"$work/said" || code=$?
    if [ $code != 125 ] || [ "${WAKELAB_VM:-}" = 1 ]; then cat "$work/said" >&2; fi
    if [ $code = 125 ]; then not_run "$(grep -m 1 -E '^(tools/vm|crates/scx-wakelab)/' "$work/said" || echo "$1 ended with 125")"; fi
    return $code
}
[ "$(uname -m)" = x86_64 ] || not_run "this machine is no x86-64"

# The time of guests begins with this.
begin() {
    SECONDS=0
    for _ in 1 2 3; do
        slow=$("$vm/slow")
        ((slow > 4)) || break
        sleep 15
    done
    ((slow <= 4)) || not_run "this machine is too slow or too busy: things take $slow times as long as they should"
    export WAKELAB_VM_SLOW=$slow
}
# A command whose --timeout is LIMIT gets $2 seconds times `slow`, as long as there are as many left. $2 is for a guest
# that hangs, not for one that is slow: six times what it takes on a free machine or more, as a loop in a shell tells
# little of an emulator. One that is out of time on a machine that has become busier says nothing of wakelab.
guest() { # NAME SECONDS COMMAND...
    local name=$1 seconds=$(($2 * slow)) code=0 left=$((LIMIT - SECONDS)) arguments
    shift 2
    ((left > 10)) || not_run "$name: no time is left, $SECONDS s are gone"
    arguments=("${@/#LIMIT/$((seconds < left ? seconds : left))}")
    or_not_run "${arguments[@]}" || code=$?
    if [ $code = 124 ] && (($(WAKELAB_VM_SLOW='' "$vm/slow") > slow + 1)); then
        not_run "$name: this machine has become too busy"
    fi
    [ $code = 0 ] || { echo "$me: FAILED: $name (code $code)" >&2; exit 1; }
    echo "$me: $name: passed; $SECONDS s of guests so far"
}
