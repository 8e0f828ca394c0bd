//! Helpers (`enum bpf_func_id`), by their numbers.
//!
//! Each does what the kernel's does (`kernel/bpf/helpers.c`, `kernel/trace/bpf_trace.c`, 7.2), with its errors. What
//! the verifier guarantees about arguments is checked here, and is a fault if it is not so. What does more for larger
//! arguments, larger values or fuller maps says so first ([`Machine::work`]); the others are instructions that take a
//! little longer.

use crate::fault::{Fault, FaultKind};
use crate::image::MapKind;
use crate::machine::{BPF_MAX_LOOPS, Kernel, MAX_HELD_LOCKS, Machine, TIMER_COST, Timer};
use crate::maps::errno::*;
use crate::maps::{Value, WORK_OF_ELEMENT, WORK_OF_NEW_ELEMENT, work_of_prefixes};
use crate::memory::BadAccess;

/// The helpers' names in the order of their numbers.
#[rustfmt::skip]
const NAMES: [&str; 212] = [
    "unspec", "map_lookup_elem", "map_update_elem", "map_delete_elem", "probe_read", "ktime_get_ns", "trace_printk",
    "get_prandom_u32", "get_smp_processor_id", "skb_store_bytes", "l3_csum_replace", "l4_csum_replace", "tail_call",
    "clone_redirect", "get_current_pid_tgid", "get_current_uid_gid", "get_current_comm", "get_cgroup_classid",
    "skb_vlan_push", "skb_vlan_pop", "skb_get_tunnel_key", "skb_set_tunnel_key", "perf_event_read", "redirect",
    "get_route_realm", "perf_event_output", "skb_load_bytes", "get_stackid", "csum_diff", "skb_get_tunnel_opt",
    "skb_set_tunnel_opt", "skb_change_proto", "skb_change_type", "skb_under_cgroup", "get_hash_recalc",
    "get_current_task", "probe_write_user", "current_task_under_cgroup", "skb_change_tail", "skb_pull_data",
    "csum_update", "set_hash_invalid", "get_numa_node_id", "skb_change_head", "xdp_adjust_head", "probe_read_str",
    "get_socket_cookie", "get_socket_uid", "set_hash", "setsockopt", "skb_adjust_room", "redirect_map",
    "sk_redirect_map", "sock_map_update", "xdp_adjust_meta", "perf_event_read_value", "perf_prog_read_value",
    "getsockopt", "override_return", "sock_ops_cb_flags_set", "msg_redirect_map", "msg_apply_bytes",
    "msg_cork_bytes", "msg_pull_data", "bind", "xdp_adjust_tail", "skb_get_xfrm_state", "get_stack",
    "skb_load_bytes_relative", "fib_lookup", "sock_hash_update", "msg_redirect_hash", "sk_redirect_hash",
    "lwt_push_encap", "lwt_seg6_store_bytes", "lwt_seg6_adjust_srh", "lwt_seg6_action", "rc_repeat", "rc_keydown",
    "skb_cgroup_id", "get_current_cgroup_id", "get_local_storage", "sk_select_reuseport", "skb_ancestor_cgroup_id",
    "sk_lookup_tcp", "sk_lookup_udp", "sk_release", "map_push_elem", "map_pop_elem", "map_peek_elem",
    "msg_push_data", "msg_pop_data", "rc_pointer_rel", "spin_lock", "spin_unlock", "sk_fullsock", "tcp_sock",
    "skb_ecn_set_ce", "get_listener_sock", "skc_lookup_tcp", "tcp_check_syncookie", "sysctl_get_name",
    "sysctl_get_current_value", "sysctl_get_new_value", "sysctl_set_new_value", "strtol", "strtoul",
    "sk_storage_get", "sk_storage_delete", "send_signal", "tcp_gen_syncookie", "skb_output", "probe_read_user",
    "probe_read_kernel", "probe_read_user_str", "probe_read_kernel_str", "tcp_send_ack", "send_signal_thread",
    "jiffies64", "read_branch_records", "get_ns_current_pid_tgid", "xdp_output", "get_netns_cookie",
    "get_current_ancestor_cgroup_id", "sk_assign", "ktime_get_boot_ns", "seq_printf", "seq_write", "sk_cgroup_id",
    "sk_ancestor_cgroup_id", "ringbuf_output", "ringbuf_reserve", "ringbuf_submit", "ringbuf_discard",
    "ringbuf_query", "csum_level", "skc_to_tcp6_sock", "skc_to_tcp_sock", "skc_to_tcp_timewait_sock",
    "skc_to_tcp_request_sock", "skc_to_udp6_sock", "get_task_stack", "load_hdr_opt", "store_hdr_opt",
    "reserve_hdr_opt", "inode_storage_get", "inode_storage_delete", "d_path", "copy_from_user", "snprintf_btf",
    "seq_printf_btf", "skb_cgroup_classid", "redirect_neigh", "per_cpu_ptr", "this_cpu_ptr", "redirect_peer",
    "task_storage_get", "task_storage_delete", "get_current_task_btf", "bprm_opts_set", "ktime_get_coarse_ns",
    "ima_inode_hash", "sock_from_file", "check_mtu", "for_each_map_elem", "snprintf", "sys_bpf",
    "btf_find_by_name_kind", "sys_close", "timer_init", "timer_set_callback", "timer_start", "timer_cancel",
    "get_func_ip", "get_attach_cookie", "task_pt_regs", "get_branch_snapshot", "trace_vprintk", "skc_to_unix_sock",
    "kallsyms_lookup_name", "find_vma", "loop", "strncmp", "get_func_arg", "get_func_ret", "get_func_arg_cnt",
    "get_retval", "set_retval", "xdp_get_buff_len", "xdp_load_bytes", "xdp_store_bytes", "copy_from_user_task",
    "skb_set_tstamp", "ima_file_hash", "kptr_xchg", "map_lookup_percpu_elem", "skc_to_mptcp_sock", "dynptr_from_mem",
    "ringbuf_reserve_dynptr", "ringbuf_submit_dynptr", "ringbuf_discard_dynptr", "dynptr_read", "dynptr_write",
    "dynptr_data", "tcp_raw_gen_syncookie_ipv4", "tcp_raw_gen_syncookie_ipv6", "tcp_raw_check_syncookie_ipv4",
    "tcp_raw_check_syncookie_ipv6", "ktime_get_tai_ns", "user_ringbuf_drain", "cgrp_storage_get",
    "cgrp_storage_delete",
];

/// The numbers of those that the machine has.
const KNOWN: &[u32] = &[
    1, 2, 3, 4, 5, 6, 7, 8, 14, 22, 25, 35, 45, 55, 87, 88, 89, 93, 94, 112, 113, 114, 115, 118, 125, 130, 131, 132,
    133, 134, 153, 154, 156, 157, 158, 160, 164, 165, 169, 170, 171, 172, 177, 181, 182, 194, 195, 197, 201, 202, 203,
    208, 209, 210, 211,
];

/// The work of starting or cancelling a timer, besides looking for it among all: an event of the caller's.
const WORK_OF_TIMER: u64 = 256;

/// `BPF_LOCAL_STORAGE_GET_F_CREATE`.
const GET_F_CREATE: u64 = 1;

/// `BPF_MAX_USER_RINGBUF_SAMPLES`.
const MAX_USER_RINGBUF_SAMPLES: u64 = 128 * 1024;

/// The name of a helper that the machine has.
pub(crate) fn name(number: i32) -> Option<&'static str> {
    u32::try_from(number).ok().filter(|number| KNOWN.contains(number)).and_then(|_| kernel_name(number))
}

/// The name of a helper that the kernel has.
pub(crate) fn kernel_name(number: i32) -> Option<&'static str> {
    let name = NAMES.get(usize::try_from(number).ok()?)?;
    (number > 0).then_some(name)
}

impl Machine {
    /// Calls a helper.
    #[inline]
    pub(crate) fn helper<K: Kernel>(&mut self, kernel: &mut K, number: u32, a: [u64; 5]) -> Result<u64, Fault> {
        match number {
            1 => {
                self.counts.map_lookups += 1;
                let map = self.map_arg(a[0], number)?;
                let cpu = self.cpu_for(kernel, map);
                self.lookup_elem(map, a[1], cpu)
            }
            _ => self.other_helper(kernel, number, a),
        }
    }

    #[inline(never)]
    fn other_helper<K: Kernel>(&mut self, kernel: &mut K, number: u32, a: [u64; 5]) -> Result<u64, Fault> {
        match number {
            2 => self.map_update_elem(kernel, a),
            3 => {
                self.counts.map_updates += 1;
                let map = self.map_arg(a[0], number)?;
                let key_size = self.key_size(map);
                self.work(WORK_OF_ELEMENT)?;
                let key = self.memory.bytes(a[1], key_size)?.to_vec();
                let result = self.maps.delete(map, &self.memory, &key);
                self.drop_gone(kernel);
                Ok(result as u64)
            }
            // bpf_probe_read(), _kernel() and _user(): there is no other memory than this.
            4 | 112 | 113 => self.probe_read(a[0], a[1], a[2]),
            45 | 114 | 115 => self.probe_read_str(a[0], a[1], a[2]),
            5 | 125 | 160 | 208 => Ok(kernel.ktime_ns()),
            6 => {
                let text = self.format(a[0], a[1] as u32, &a[2..])?;
                let len = text.len() as u64;
                kernel.printk(text);
                Ok(len)
            }
            7 => Ok(u64::from(kernel.prandom_u32())),
            8 => Ok(u64::from(kernel.smp_processor_id())),
            14 => kernel.current_pid_tgid().ok_or_else(|| Fault::kernel("the kernel does not say which task this is")),
            // There are no events in a perf event array.
            22 | 25 | 55 => Ok(ENOENT as u64),
            35 | 158 => Ok(kernel.current_task()),
            87 => {
                self.counts.map_updates += 1;
                let map = self.map_arg(a[0], number)?;
                self.work_on(self.value_size(map))?;
                Ok(self.maps.push_at(map, &mut self.memory, a[1], a[2])? as u64)
            }
            88 | 89 => {
                self.counts.map_updates += 1;
                let map = self.map_arg(a[0], number)?;
                let value_size = self.value_size(map);
                self.work_on(value_size)?;
                let popped = self.maps.pop(map, &mut self.memory, number == 88);
                let to = self.memory.program_bytes_mut(a[1], value_size)?;
                match popped {
                    Some(value) => {
                        to.copy_from_slice(&value);
                        Ok(0)
                    }
                    None => {
                        to.fill(0);
                        Ok(ENOENT as u64)
                    }
                }
            }
            93 => self.spin_lock(a[0]).map(|_| 0),
            94 => self.spin_unlock(a[0]).map(|()| 0),
            118 => kernel.jiffies64().ok_or_else(|| Fault::kernel("the kernel does not say what jiffies is")),
            130 => {
                let map = self.map_arg(a[0], number)?;
                self.memory.bytes(a[1], a[2])?;
                self.work_on(a[2])?;
                let addr = self.maps.ringbuf_reserve(map, &mut self.memory, a[2])?;
                if addr == 0 {
                    return Ok(-11i64 as u64);
                }
                self.memory.copy(addr, a[1], a[2])?;
                self.maps.ringbuf_commit(&mut self.memory, addr, true);
                Ok(0)
            }
            131 => {
                let map = self.map_arg(a[0], number)?;
                if a[2] != 0 {
                    return Ok(0);
                }
                self.work_on(a[1].min(self.max_entries(map)))?;
                Ok(self.maps.ringbuf_reserve(map, &mut self.memory, a[1])?)
            }
            132 | 133 => {
                if !self.maps.ringbuf_commit(&mut self.memory, a[0], number == 132) {
                    return Err(self.argument(number, "a record of a ring buffer that was reserved and not submitted"));
                }
                Ok(0)
            }
            134 => {
                let map = self.map_arg(a[0], number)?;
                Ok(self.maps.ringbuf_query(map, a[1]))
            }
            153 => {
                if a[1] >= u64::from(self.nr_cpus) {
                    return Ok(0);
                }
                self.per_cpu_ptr(kernel, number, a[0], a[1] as u32)
            }
            154 => {
                let cpu = kernel.smp_processor_id();
                self.per_cpu_ptr(kernel, number, a[0], cpu)
            }
            156 | 210 => {
                self.counts.map_lookups += 1;
                let map = self.storage_arg(a[0], number)?;
                if a[1] == 0 || a[3] & !GET_F_CREATE != 0 {
                    return Ok(0);
                }
                let there = self.maps.storage(map, &mut self.memory, a[1], false)?;
                if there != 0 || a[3] & GET_F_CREATE == 0 {
                    return Ok(there);
                }
                self.work(WORK_OF_NEW_ELEMENT + self.value_size(map) / 4)?;
                let addr = self.maps.storage(map, &mut self.memory, a[1], true)?;
                if a[2] != 0 {
                    self.memory.copy(addr, a[2], self.value_size(map))?;
                }
                Ok(addr)
            }
            157 | 211 => {
                self.counts.map_updates += 1;
                let map = self.storage_arg(a[0], number)?;
                if a[1] == 0 {
                    return Ok(EINVAL as u64);
                }
                let result = self.maps.delete(map, &self.memory, &a[1].to_le_bytes());
                self.drop_gone(kernel);
                Ok(result as u64)
            }
            164 => self.for_each_map_elem(kernel, a),
            165 => {
                if !a[4].is_multiple_of(8) || a[4] > 96 {
                    return Ok(EINVAL as u64);
                }
                let text = self.bprintf(a[2], a[3], a[4] as u32)?;
                let bytes = text.as_bytes();
                if a[1] > 0 {
                    let kept = bytes.len().min(a[1] as usize - 1);
                    let to = self.memory.program_bytes_mut(a[0], kept as u64 + 1)?;
                    to[..kept].copy_from_slice(&bytes[..kept]);
                    to[kept] = 0;
                }
                Ok(bytes.len() as u64 + 1)
            }
            169 => {
                let map = self.map_arg(a[1], number)?;
                if self.maps.element_of(map, a[0]).is_none() {
                    return Err(self.argument(number, "a timer in a value of the map"));
                }
                // CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME.
                if !matches!(a[2], 0 | 1 | 7) {
                    return Ok(EINVAL as u64);
                }
                if self.timers.contains_key(&a[0]) {
                    return Ok(EBUSY as u64);
                }
                self.memory.charge(TIMER_COST)?;
                self.timers.insert(a[0], Timer { map, callback: None });
                Ok(0)
            }
            170 => match self.timers.get_mut(&a[0]) {
                Some(timer) => {
                    timer.callback = Some(a[1] as u32);
                    Ok(0)
                }
                None => Ok(EINVAL as u64),
            },
            171 => match self.timers.get(&a[0]) {
                Some(&Timer { map, callback: Some(callback) }) if a[2] <= 3 => {
                    self.work(WORK_OF_TIMER + self.timers.len() as u64 / 4)?;
                    kernel.timer_start(&self.counts, a[0], (callback, map), a[1], a[2]);
                    Ok(0)
                }
                _ => Ok(EINVAL as u64),
            },
            172 => {
                if !self.timers.contains_key(&a[0]) {
                    return Ok(EINVAL as u64);
                }
                if self.running_timer == Some(a[0]) {
                    return Ok(EDEADLK as u64);
                }
                self.work(WORK_OF_TIMER + self.timers.len() as u64 / 4)?;
                Ok(u64::from(kernel.timer_cancel(a[0])))
            }
            177 => {
                if !a[3].is_multiple_of(8) || a[3] > 96 {
                    return Ok(EINVAL as u64);
                }
                let args = self.words(a[2], a[3])?;
                let text = self.format(a[0], a[1] as u32, &args)?;
                let len = text.len() as u64;
                kernel.printk(text);
                Ok(len)
            }
            181 => {
                if a[3] != 0 {
                    return Ok(EINVAL as u64);
                }
                let loops = a[0] as u32;
                if u64::from(loops) > BPF_MAX_LOOPS {
                    return Ok(E2BIG as u64);
                }
                for at in 0..u64::from(loops) {
                    if self.callback(kernel, a[1], [at, a[2], 0, 0, 0])? != 0 {
                        return Ok(at + 1);
                    }
                }
                Ok(u64::from(loops))
            }
            182 => {
                self.work_of_text(a[0], a[1] as u32)?;
                self.work_of_text(a[2], a[1] as u32)?;
                let one = self.memory.c_str(a[0], a[1] as u32)?;
                let other = self.memory.c_str(a[2], a[1] as u32)?;
                Ok(match one.cmp(other) {
                    std::cmp::Ordering::Less => -1i64 as u64,
                    std::cmp::Ordering::Equal => 0,
                    std::cmp::Ordering::Greater => 1,
                })
            }
            194 => self.kptr_xchg(a[0], a[1]),
            195 => {
                self.counts.map_lookups += 1;
                let map = self.map_arg(a[0], number)?;
                if a[2] >= u64::from(self.nr_cpus) {
                    return Ok(0);
                }
                self.lookup_elem(map, a[1], a[2] as u32)
            }
            197 => {
                // struct bpf_dynptr_kern: data, size, offset.
                if a[2] != 0 {
                    return Ok(EINVAL as u64);
                }
                self.memory.bytes(a[0], a[1])?;
                self.write_dynptr(a[3], a[0], a[1] as u32)?;
                Ok(0)
            }
            201 => {
                let (data, size) = self.dynptr(a[2])?;
                match within(data, size, a[3], a[1]) {
                    Some(from) => self.copy_for_program(a[0], from, a[1]).map(|()| 0),
                    None => Ok(E2BIG as u64),
                }
            }
            202 => {
                let (data, size) = self.dynptr(a[0])?;
                match within(data, size, a[1], a[3]) {
                    Some(to) => self.copy_for_program(to, a[2], a[3]).map(|()| 0),
                    None => Ok(E2BIG as u64),
                }
            }
            203 => {
                let (data, size) = self.dynptr(a[0])?;
                Ok(within(data, size, a[1], a[2]).unwrap_or(0))
            }
            209 => {
                let map = self.map_arg(a[0], number)?;
                let mut drained = 0;
                while drained < MAX_USER_RINGBUF_SAMPLES
                    && let Some(sample) = self.maps.user_ringbuf_pop(map)
                {
                    self.work(sample.len() as u64 / 8 + WORK_OF_ELEMENT)?;
                    let data = self.memory.region("a sample", sample.len() as u32);
                    self.memory.bytes_mut(data, sample.len() as u64)?.copy_from_slice(&sample);
                    self.memory.set_read_only(data, true);
                    let dynptr = self.memory.region("a sample's dynptr", 16);
                    self.write_dynptr(dynptr, data, sample.len() as u32)?;
                    let result = self.callback(kernel, a[1], [dynptr, a[2], 0, 0, 0]);
                    self.memory.free(dynptr);
                    self.memory.free(data);
                    drained += 1;
                    if result? != 0 {
                        break;
                    }
                }
                Ok(drained)
            }
            other => Err(Fault::new(FaultKind::Absent(format!("helper {other}")))),
        }
    }

    fn argument(&self, helper: u32, expected: &str) -> Fault {
        Fault::argument(format!("bpf_{}", kernel_name(helper as i32).unwrap_or_default()), expected)
    }

    #[inline]
    fn map_arg(&self, handle: u64, helper: u32) -> Result<u32, Fault> {
        self.maps.number(handle).ok_or_else(|| self.argument(helper, &format!("a map, but {handle:#x} is not one")))
    }

    fn storage_arg(&self, handle: u64, helper: u32) -> Result<u32, Fault> {
        let map = self.map_arg(handle, helper)?;
        let kind = self.maps.get(map).map(|map| map.def.kind);
        match (helper, kind) {
            (156 | 157, Some(MapKind::TaskStorage)) | (210 | 211, Some(MapKind::CgrpStorage)) => Ok(map),
            _ => Err(self.argument(helper, "a map of local storage of its kind")),
        }
    }

    fn key_size(&self, map: u32) -> u64 {
        self.maps.get(map).map_or(0, |map| u64::from(map.def.key_size))
    }

    fn value_size(&self, map: u32) -> u64 {
        self.maps.get(map).map_or(0, |map| u64::from(map.def.value_size))
    }

    fn max_entries(&self, map: u32) -> u64 {
        self.maps.get(map).map_or(0, |map| u64::from(map.def.max_entries))
    }

    /// The work of looking for the end of a text of at most `max` bytes.
    fn work_of_text(&mut self, addr: u64, max: u32) -> Result<(), Fault> {
        let there = self.memory.region_len(addr).saturating_sub(addr & 0xffff_ffff);
        self.work_on(there.min(u64::from(max)))
    }

    /// Copies bytes to where a program may write.
    fn copy_for_program(&mut self, to: u64, from: u64, len: u64) -> Result<(), Fault> {
        self.memory.bytes(from, len)?;
        self.work_on(len)?;
        Ok(self.memory.program_copy(to, from, len)?)
    }

    /// The current CPU, if the map wants to know.
    #[inline]
    fn cpu_for<K: Kernel>(&self, kernel: &mut K, map: u32) -> u32 {
        match self.maps.get(map) {
            Some(map) if map.is_percpu() => kernel.smp_processor_id(),
            _ => 0,
        }
    }

    #[inline]
    fn lookup_elem(&mut self, map: u32, key: u64, cpu: u32) -> Result<u64, Fault> {
        let (kind, key_size) = match self.maps.get(map) {
            Some(map) => (Some(map.def.kind), u64::from(map.def.key_size)),
            None => (None, 0),
        };
        if kind == Some(MapKind::LpmTrie) {
            self.work(work_of_prefixes(key_size))?;
        }
        let key = self.memory.bytes(key, key_size)?;
        if kind == Some(MapKind::HashOfMaps) {
            return Ok(self.maps.lookup_inner(map, key, &self.memory));
        }
        Ok(self.maps.lookup(map, key, cpu))
    }

    fn map_update_elem<K: Kernel>(&mut self, kernel: &mut K, a: [u64; 5]) -> Result<u64, Fault> {
        self.counts.map_updates += 1;
        let map = self.map_arg(a[0], 2)?;
        if self.maps.get(map).is_some_and(|map| map.def.kind == MapKind::HashOfMaps) {
            return Ok(EPERM as u64);
        }
        let cpu = self.cpu_for(kernel, map);
        let value_size = self.value_size(map);
        let element = self.maps.get(map).map_or(0, |map| map.element_len());
        let is_array = self.maps.get(map).is_some_and(|map| map.def.kind == MapKind::Array);
        // An array's value is where it is. What other maps have is made anew, as the kernel's hash maps do.
        let new = if is_array { 0 } else { WORK_OF_NEW_ELEMENT + element / 8 };
        self.work(new + value_size / 8)?;
        let key = self.memory.bytes(a[1], self.key_size(map))?.to_vec();
        let value = self.memory.bytes(a[2], value_size)?;
        // An array's can be long. Another may lie in an element that goes.
        let copy = if is_array { Vec::new() } else { value.to_vec() };
        let value = if is_array { Value::At(a[2]) } else { Value::Bytes(&copy) };
        let result = self.maps.update(map, &mut self.memory, &key, value, a[3], Some(cpu));
        self.drop_gone(kernel);
        Ok(result? as u64)
    }

    fn for_each_map_elem<K: Kernel>(&mut self, kernel: &mut K, a: [u64; 5]) -> Result<u64, Fault> {
        let map = self.map_arg(a[0], 164)?;
        if a[3] != 0 {
            return Ok(EINVAL as u64);
        }
        let cpu = self.cpu_for(kernel, map);
        let mut visited = 0;
        // Elements are gathered first: a map of many costs that even if the callback ends at the first.
        let is_array =
            self.maps.get(map).is_some_and(|map| matches!(map.def.kind, MapKind::Array | MapKind::PercpuArray));
        if !is_array {
            self.work(u64::from(self.maps.len(map)))?;
        }
        for element in self.maps.elements(map) {
            self.work(WORK_OF_ELEMENT)?;
            // The callback may delete elements.
            let Some((key, value)) = self.maps.element(map, element, cpu) else { continue };
            visited += 1;
            let (key, own_key) = self.callback_key(key, element.0);
            let result = self.callback(kernel, a[1], [a[0], key, value, a[2], 0]);
            if own_key {
                self.memory.free(key);
            }
            if result? != 0 {
                break;
            }
        }
        Ok(visited)
    }

    fn probe_read(&mut self, to: u64, len: u64, from: u64) -> Result<u64, Fault> {
        let len = u64::from(len as u32);
        if self.memory.bytes(from, len).is_ok() {
            return self.copy_for_program(to, from, len).map(|()| 0);
        }
        self.memory.program_bytes_mut(to, len)?;
        self.work_on(len)?;
        self.memory.program_bytes_mut(to, len)?.fill(0);
        Ok(EFAULT as u64)
    }

    fn probe_read_str(&mut self, to: u64, len: u64, from: u64) -> Result<u64, Fault> {
        let len = len as u32;
        if len == 0 {
            return Ok(0);
        }
        self.work_of_text(from, len)?;
        match self.memory.c_str(from, len).map(<[u8]>::len) {
            Ok(text) => {
                let kept = text.min(len as usize - 1) as u64;
                self.memory.program_bytes_mut(to, kept + 1)?;
                self.copy_for_program(to, from, kept)?;
                self.memory.program_bytes_mut(to, kept + 1)?[kept as usize] = 0;
                Ok(kept + 1)
            }
            Err(_) => {
                self.memory.program_bytes_mut(to, u64::from(len))?.fill(0);
                Ok(EFAULT as u64)
            }
        }
    }

    /// `bpf_spin_lock()`: whether it was free. Nobody else runs, so that a lock which is held is held by this call.
    pub(crate) fn spin_lock(&mut self, addr: u64) -> Result<(), Fault> {
        self.counts.locks += 1;
        if self.locks.contains(&addr) {
            return Err(Fault::new(FaultKind::Lock(format!(
                "the lock at {addr:#x} is locked while it is already held"
            ))));
        }
        if self.locks.len() >= MAX_HELD_LOCKS {
            let what =
                format!("the lock at {addr:#x} is locked while {MAX_HELD_LOCKS} locks are held, which is the limit");
            return Err(Fault::new(FaultKind::Lock(what)));
        }
        self.memory.program_bytes_mut(addr, 4)?.copy_from_slice(&1u32.to_le_bytes());
        self.locks.push(addr);
        Ok(())
    }

    /// `bpf_spin_unlock()`.
    pub(crate) fn spin_unlock(&mut self, addr: u64) -> Result<(), Fault> {
        match self.locks.iter().rposition(|&lock| lock == addr) {
            Some(at) => {
                self.locks.remove(at);
                self.memory.program_bytes_mut(addr, 4)?.fill(0);
                Ok(())
            }
            None => Err(Fault::new(FaultKind::Lock(format!("the lock at {addr:#x} is unlocked, but it is not held")))),
        }
    }

    fn per_cpu_ptr<K: Kernel>(&mut self, kernel: &mut K, helper: u32, addr: u64, cpu: u32) -> Result<u64, Fault> {
        match self.ksyms.iter().position(|ksym| ksym >> 32 == addr >> 32) {
            Some(number) => {
                let image = self.image.clone();
                let addr_of = kernel.ksym(self, &image.ksyms[number], Some(cpu));
                Ok(addr_of.map_or(0, |at| at.wrapping_add(addr & 0xffff_ffff)))
            }
            None => Err(self.argument(helper, &format!("a per-CPU variable of the kernel, but {addr:#x} is not one"))),
        }
    }

    fn write_dynptr(&mut self, at: u64, data: u64, size: u32) -> Result<(), BadAccess> {
        let bytes = self.memory.program_bytes_mut(at, 16)?;
        bytes[..8].copy_from_slice(&data.to_le_bytes());
        bytes[8..12].copy_from_slice(&size.to_le_bytes());
        bytes[12..].fill(0);
        Ok(())
    }

    /// The data of a `struct bpf_dynptr_kern`, and its size.
    fn dynptr(&self, at: u64) -> Result<(u64, u64), BadAccess> {
        let data = self.memory.read_u64(at)?;
        Ok((data, u64::from(self.memory.read_u32(at.wrapping_add(8))?)))
    }

    /// Words of 8 bytes, as many as `len` bytes have.
    pub(crate) fn words(&self, at: u64, len: u64) -> Result<Vec<u64>, BadAccess> {
        if len == 0 {
            return Ok(Vec::new());
        }
        let bytes = self.memory.bytes(at, len)?;
        Ok(bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect())
    }
}

/// The address of `len` bytes at an offset in data, if it has them.
fn within(data: u64, size: u64, offset: u64, len: u64) -> Option<u64> {
    let (offset, len) = (u64::from(offset as u32), u64::from(len as u32));
    (data != 0 && offset + len <= size).then(|| data.wrapping_add(offset))
}
