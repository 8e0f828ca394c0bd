// SPDX-License-Identifier: GPL-2.0
/*
 * The types of a made-up kernel: not as relocations.bpf.c assumes them. Its object is only read for its BTF.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

enum colour { BLUE = 7, RED = 9 };
enum wide { WIDE_BIG = 0x9900000000ULL, WIDE_SMALL = 1 };

struct bpf_prog_aux {
	int unused;
};

struct inner {
	u64 first;
	u32 second;
};

struct thing {
	u64 added;
	union {
		struct {
			u16 spare;
			u32 in_unnamed;
		};
		u64 whole;
	};
	u8 shrunk_to_u8;
	int was_long;
	void *pointer;
	u32 padding : 3;
	u32 bits : 5;
	int signed_bits : 7;
	struct inner inner;
	struct inner many[4];
	enum colour colour;
	int flexible_len;
	u32 flexible[];
};

union both {
	u32 a;
	u64 b;
};

struct ops {
	int (*start)(struct thing *thing, u64 flags);
	void (*stop)(struct thing *thing);
	u64 flags;
	char name[16];
};

struct thing thing;
union both both;
enum colour colour;
enum wide wide;
struct ops ops;

int kernel_function(struct thing *thing, u64 flags, struct bpf_prog_aux *aux)
{
	return 0;
}

int kernel_changed(struct thing *thing)
{
	return 0;
}
