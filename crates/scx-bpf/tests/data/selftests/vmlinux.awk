# Makes a vmlinux.h in which structs that reach most of the kernel have only the members that the schedulers here read.
# The objects are a third as large then, and the same: programs find members by name when they are loaded (CO-RE).
/^struct (task_struct|cgroup|mm_struct|css_set|module|net_device|device|sock|rq) \{$/ {
    print
    inside = 1
    if ($2 == "rq") print "\tstruct task_struct *curr;"
    next
}
inside && /^\}/ { inside = 0 }
!inside { print; next }
/^\t(pid_t pid|char comm\[16\]|unsigned int flags|const cpumask_t \*cpus_ptr|int nr_cpus_allowed|struct sched_ext_entity scx);$/
/^\t(int static_prio|short unsigned int migration_disabled|u64 id);$/
