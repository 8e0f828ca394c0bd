# extract.awk: of a C source in the kernel's style, the functions whose names are in the variable `wanted`: first what
# declares them, then they themselves, in the order of the source. Of several definitions (for other configurations) it
# takes the longest.
BEGIN { n = split(wanted, names, /[ \n]+/); for (i = 1; i <= n; i++) want[names[i]] = 1 }

function name_of(head,    at, before) {
    at = index(head, "(")
    if (!at) return ""
    before = substr(head, 1, at - 1)
    sub(/[ \t]+$/, "", before)
    if (match(before, /[A-Za-z_0-9]+$/)) return substr(before, RSTART)
    return ""
}
function keep(   name) {
    name = name_of(head)
    if (!(name in want)) return
    if (!(name in lines) || lines[name] < count) {
        if (!(name in lines)) order[++total] = name
        lines[name] = count; text[name] = head body; declared[name] = head
    }
}
function reset() { head = ""; body = ""; count = 0 }

inside { body = body $0 "\n"; count++; if (/^}/) { inside = 0; keep(); reset() } next }
/^#/ || /^$/ || /^[ \t]*\/?\*/ || /^\/\// { if (!open_head) reset(); if (/^#/ || /^$/) open_head = 0; if (/^#/) reset(); next }
/^{/ { if (head ~ /\(/ && head !~ /=/) { body = $0 "\n"; count = 1; if (/}$/) { keep(); reset() } else inside = 1 } else reset(); next }
/;[ \t]*$/ && !/{/ { reset(); next }
/^}/ { reset(); next }
/^[A-Za-z_]/ || (head != "" && /^[ \t]/) {
    if (/^[A-Za-z_].*{.*}[ \t]*$/ && /\(/) {
        at = index($0, "{")
        head = head substr($0, 1, at - 1) "\n"; body = substr($0, at) "\n"; count = 1; keep(); reset(); next
    }
    if (/{[ \t]*$/ && /\(/) {
        at = length($0); sub(/{[ \t]*$/, ""); head = head $0 "\n"; body = "{\n"; count = 1; inside = 1; next
    }
    head = head $0 "\n"; next
}
{ reset() }
END {
    for (i = 1; i <= total; i++) { d = declared[order[i]]; sub(/[ \t\n]+$/, "", d); print d ";" }
    print ""
    for (i = 1; i <= total; i++) print text[order[i]]
    for (name in want) if (name != "" && !(name in lines)) missing = missing " " name
    if (missing != "" && verbose) print "/* not here:" missing " */"
}
