// SPDX-License-Identifier: GPL-2.0
/*
 * One program for each kind of relocation and reference that the loader knows, against the types of kernel.c.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef _Bool bool;

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
#define __array(name, val) typeof(val) *name[]
#define __ulong(name, val) enum { name##_value = val } name
#define __weak __attribute__((weak))
#define __ksym __attribute__((section(".ksyms")))
#define __kconfig __attribute__((section(".kconfig")))
#define __arena __attribute__((address_space(1)))
#define noinline __attribute__((noinline))

enum { FIELD_BYTE_OFFSET, FIELD_BYTE_SIZE, FIELD_EXISTS, FIELD_SIGNED, FIELD_LSHIFT_U64, FIELD_RSHIFT_U64 };
enum { TYPE_EXISTS, TYPE_SIZE, TYPE_MATCHES };
enum { TYPE_ID_LOCAL, TYPE_ID_TARGET };
enum { ENUMVAL_EXISTS, ENUMVAL_VALUE };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
enum colour { RED, GREEN, BLUE };
enum wide { WIDE_SMALL = 1, WIDE_BIG = 0x1100000000ULL };

struct inner {
	u32 second;
	u64 first;
};

struct thing {
	u32 shrunk_to_u8;
	long was_long;
	void *pointer;
	u32 in_unnamed;
	u32 bits : 5;
	int signed_bits : 7;
	u32 gone;
	struct inner inner;
	struct inner many[4];
	enum colour colour;
	u32 flexible[];
};

struct thing___old {
	u32 whole;
};

struct absent {
	u32 x;
};

union both {
	u32 a;
	u64 b;
};

struct inner___match {
	u32 second;
};

struct inner___no_match {
	u32 third;
};
#pragma clang attribute pop

struct ops___v2 {
	int (*start)(u64 *ctx);
	void (*stop___v2)(u64 *ctx);
	u64 flags;
	char name[16];
	int not_in_kernel;
};

struct own {
	u64 a;
	u64 b;
	u32 c;
};

extern int kernel_function(struct thing *thing, u64 flags) __ksym;
extern int kernel_function___weak(struct thing *thing, u64 flags) __weak __ksym;
extern int kernel_changed(struct thing *thing, u64 added) __weak __ksym;
extern int kernel_absent(void) __weak __ksym;
extern const int kernel_variable __ksym;
extern const void kernel_symbol __weak __ksym;
extern int LINUX_KERNEL_VERSION __kconfig;
extern unsigned long CONFIG_HZ __kconfig;
extern bool CONFIG_YES __kconfig __weak;
extern bool CONFIG_ABSENT __kconfig __weak;
extern char CONFIG_TEXT[8] __kconfig __weak;

static long (*loop)(u32 nr, void *callback, void *ctx, u64 flags) = (void *)181;
static void *(*map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*ktime_get_ns)(void) = (void *)5;

struct {
	__uint(type, 1);
	__uint(max_entries, 100);
	__type(key, u64);
	__type(value, struct own);
	__uint(map_flags, 1);
} hash SEC(".maps");

struct inner_map {
	__uint(type, 2);
	__uint(max_entries, 5);
	__type(key, u32);
	__type(value, u64);
};

struct inner_map first_inner SEC(".maps"), second_inner SEC(".maps");

struct {
	__uint(type, 12);
	__uint(max_entries, 4);
	__uint(key_size, 4);
	__array(values, struct inner_map);
} outer SEC(".maps") = { .values = { [1] = &first_inner, [3] = &second_inner } };

struct {
	__uint(type, 33);
	__uint(map_flags, 1 << 10);
	__uint(max_entries, 16);
	__ulong(map_extra, 0x100000000000);
} arena SEC(".maps");

const volatile u32 nr_cpus = 4;
const volatile struct {
	u64 cap;
	u16 list[3];
	struct own owns[2];
} cpus[8];
u64 in_data = 0x1122334455667788;
u64 in_bss;
long in_custom SEC(".data.custom") = -5;
static u32 hidden[4];
u64 __arena in_arena = 42;

static noinline u64 static_function(u64 x)
{
	hidden[x & 3]++;
	return x * in_data;
}

noinline __weak u64 global_function(u64 x)
{
	return static_function(x) + ktime_get_ns();
}

static long callback(u64 index, void *ctx)
{
	in_bss += index;
	return 0;
}

SEC("struct_ops/start") int start(u64 *ctx)
{
	struct thing *thing = (void *)ctx[0];
	u64 key = ctx[1];
	struct own *own;

	loop(10, callback, 0, 0);
	own = map_lookup_elem(&hash, &key);
	if (own)
		in_bss += own->b;
	map_lookup_elem(&outer, &key);
	in_bss += global_function(nr_cpus) + in_custom;
	in_bss += cpus[1].cap + LINUX_KERNEL_VERSION + CONFIG_HZ;
	if (CONFIG_YES && !CONFIG_ABSENT)
		in_bss += CONFIG_TEXT[1];
	if (kernel_absent)
		kernel_absent();
	if (kernel_changed)
		kernel_changed(thing, 1);
	if (kernel_function___weak)
		kernel_function___weak(thing, 2);
	if (&kernel_symbol)
		in_bss += kernel_variable;
	in_arena++;
	return kernel_function(thing, key);
}

SEC("struct_ops/stop") void stop(u64 *ctx)
{
	struct thing *thing = (void *)ctx[0];

	thing->in_unnamed = 1;
	thing->inner.second = 2;
	thing->many[2].first = 3;
	thing->flexible[5] = 4;
	in_bss = thing->shrunk_to_u8;
	in_bss += (u64)thing->pointer;
	in_bss += ((struct thing___old *)thing)->whole;
}

u64 out[32];

/* Each answer has a place in `out`. */
SEC("syscall") int asks(void *ctx)
{
	struct thing *thing = ctx;
	struct inner *inner = ctx;

	out[0] = __builtin_preserve_field_info(thing->inner.second, FIELD_BYTE_OFFSET);
	out[1] = __builtin_preserve_field_info(thing->many, FIELD_BYTE_SIZE);
	out[2] = __builtin_preserve_field_info(thing->in_unnamed, FIELD_EXISTS);
	out[3] = __builtin_preserve_field_info(thing->gone, FIELD_EXISTS);
	out[4] = __builtin_preserve_field_info(thing->signed_bits, FIELD_SIGNED);
	out[5] = __builtin_preserve_field_info(thing->bits, FIELD_SIGNED);
	out[6] = __builtin_preserve_field_info(thing->bits, FIELD_BYTE_OFFSET);
	out[7] = __builtin_preserve_field_info(thing->bits, FIELD_BYTE_SIZE);
	out[8] = __builtin_preserve_field_info(thing->bits, FIELD_LSHIFT_U64);
	out[9] = __builtin_preserve_field_info(thing->bits, FIELD_RSHIFT_U64);
	out[10] = __builtin_preserve_type_info(*(struct thing *)0, TYPE_EXISTS);
	out[11] = __builtin_preserve_type_info(*(struct absent *)0, TYPE_EXISTS);
	out[12] = __builtin_preserve_type_info(*(struct thing *)0, TYPE_SIZE);
	out[13] = __builtin_preserve_type_info(*(struct inner___match *)0, TYPE_MATCHES);
	out[14] = __builtin_preserve_type_info(*(struct inner___no_match *)0, TYPE_MATCHES);
	out[15] = __builtin_btf_type_id(*(struct own *)0, TYPE_ID_LOCAL);
	out[16] = __builtin_btf_type_id(*(struct inner *)0, TYPE_ID_TARGET);
	out[17] = __builtin_preserve_enum_value(*(typeof(enum colour) *)BLUE, ENUMVAL_EXISTS);
	out[18] = __builtin_preserve_enum_value(*(typeof(enum colour) *)GREEN, ENUMVAL_EXISTS);
	out[19] = __builtin_preserve_enum_value(*(typeof(enum colour) *)BLUE, ENUMVAL_VALUE);
	out[20] = __builtin_preserve_enum_value(*(typeof(enum wide) *)WIDE_BIG, ENUMVAL_VALUE);
	out[21] = __builtin_preserve_field_info(((union both *)ctx)->b, FIELD_BYTE_SIZE);
	return 0;
}

/* What the kernel does not have. */
SEC("syscall") int poisoned(void *ctx)
{
	struct thing *thing = ctx;

	out[0] = thing->gone;
	out[1] = __builtin_preserve_type_info(*(struct absent *)0, TYPE_SIZE);
	out[2] = __builtin_preserve_enum_value(*(typeof(enum colour) *)GREEN, ENUMVAL_VALUE);
	/* Its sign would be lost. */
	out[3] = thing->was_long;
	return 0;
}

/* Nothing reaches it: what it needs may be missing. */
extern int kernel_required(void) __ksym;

SEC("kprobe/somewhere") int left_out(void *ctx)
{
	return kernel_required();
}

SEC(".struct_ops.link") struct ops___v2 made_up = {
	.start = start,
	.stop___v2 = stop,
	.flags = 0x12,
	.name = "made_up",
	.not_in_kernel = -1,
};

char _license[] SEC("license") = "GPL";
