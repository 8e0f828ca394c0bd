# The page docs/evidence/blind.md from the rows of tools/vm/blind:
# load, side, quantity, unit, recorded, simulated, predicted, came out,
# how alike these two are ("null" where that is not judged).
function number(x) { return x == "null" ? "-" : x + 0 >= 1000 ? sprintf("%d", x + 0.5) : sprintf("%.1f", x) }
# How alike two numbers of this quantity are, by the limits of docs/production-to-whatif.md.
function alike(quantity, unit, a, b,    ratio, low, high, near, wide) {
    if (unit == "%") { ratio = a > b ? a - b : b - a; near = 5; wide = 15 }
    else {
        low = a < b ? a : b; high = a < b ? b : a
        if (high == low || (unit == "us" && high - low <= 2)) return "faithful"
        if (low <= 0) return "not"
        ratio = high / low
        if (unit == "/s") { near = 1.1; wide = 1.3 }
        else if (quantity ~ /p50$/) { near = 1.25; wide = 2 }
        else { near = 1.5; wide = 3 }
    }
    return ratio <= near ? "faithful" : ratio <= wide ? "roughly" : "not"
}
{
    load = $1; side = $2; quantity = $3; unit = $4; before = $5; simulated = $6; predicted = $7; after = $8
    if ($9 == "null" || before == "null" || after == "null") next
    key = load " " side
    if (!(key in seen)) { seen[key]; order[++keys] = key }
    n[side]++; count[side, $9]++
    if (!(load in loads)) { loads[load]; load_order[++nr_loads] = load }
    n_load[load]++; count_load[load, $9]++
    changed = alike(quantity, unit, before, after) != "faithful"
    moves = alike(quantity, unit, simulated, predicted) != "faithful"
    same_way = (after - before) * (predicted - simulated) > 0
    if (changed) { real[side]++; if (moves && same_way) right[side]++ }
    else if (moves) made_up[side]++
    naive[side, alike(quantity, unit, before, after)]++
    if (!(side in sides)) { sides[side]; side_order[++nr_sides] = side }
    if (unit == "%" && before + 0 < 1 && after + 0 < 1 && predicted + 0 < 1) next
    lines[key] = lines[key] sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", quantity, unit, number(before), number(simulated), number(predicted), number(after), $9)
}
END {
    print "# Predicted before it was recorded\n"
    print "Written by `tools/vm/blind page`; do not edit. Six loads of `wakelab-load` were recorded in a guest with Linux 6.12 and 8 CPUs, captured, and"
    print "simulated without a feature, or under another kernel. Then guests with that kernel, or without that feature, ran the same loads. What"
    print "scheduling costs in the guest was measured there by `wakelab calibrate`, under 6.12 with all of its features; nothing was fitted to an"
    print "outcome. CPUs of such a guest take turns on one thread of the host, and its clock counts instructions: each cost lasts as many times as"
    print "long as CPUs are busy, which the recording of 6.12 has, and the recorder adds to each choice what it measured of itself there.\n"
    print "*Predicted* and *came out* are judged by the limits of [the capture](../production-to-whatif.md#how-like-the-recording-it-is). *Changes*: rows that are not within the closer limits"
    print "of what they were before; *foreseen*: those that the simulation changes by as much, in the same direction; *made up*: rows that it"
    print "changes though they did not. The last column is what one gets by saying that nothing changes.\n"
    print "| side | rows | faithful | roughly | not | changes | foreseen | made up | faithful if nothing changed |"
    print "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for (i = 1; i <= nr_sides; i++) {
        s = side_order[i]
        printf "| %s | %d | %d | %d | %d | %d | %d | %d | %d |\n", s, n[s], count[s, "faithful"], count[s, "roughly"], count[s, "not"], real[s], right[s], made_up[s], naive[s, "faithful"]
    }
    print "\nBy load:\n"
    print "| load | rows | faithful | roughly | not |"
    print "|---|--:|--:|--:|--:|"
    for (i = 1; i <= nr_loads; i++) {
        l = load_order[i]
        printf "| %s | %d | %d | %d | %d |\n", l, n_load[l], count_load[l, "faithful"], count_load[l, "roughly"], count_load[l, "not"]
    }
    for (i = 1; i <= keys; i++) {
        split(order[i], part, " ")
        sub(/-/, " ", part[1])
        printf "\n## `wakelab-load %s`, %s\n\n", part[1], part[2]
        print "| quantity | unit | 6.12, recorded | 6.12, simulated | predicted | came out | |"
        print "|---|---|--:|--:|--:|--:|---|"
        printf "%s", lines[order[i]]
    }
    print "\nShares below 1% everywhere are left out."
}
