# ===- product.py - Products of warpgroups *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""wgmma: random descriptors over a shared memory full of distinct numbers, all
shapes and forms, and numbers that are hard to add."""

import struct

from case import Array, Case, make_kernel, make_random, zeros

TILE = 40960
# Bytes of an element, of what makes random bits a moderate number: and, or.
TYPES = {"bf16": (2, 0x83FF83FF, 0x3C003C00), "f16": (2, 0x87FF87FF, 0x30003000),
         "tf32": (4, 0x81FFFFFF, 0x3E000000), "e4m3": (1, 0xBFBFBFBF, 0),
         "e5m2": (1, 0xBFBFBFBF, 0)}


def make_words(rng, kind, count):
    """Moderate numbers of a type, packed."""
    _, keep, force = TYPES[kind]
    return b"".join(struct.pack("<I", rng.getrandbits(32) & keep | force)
                    for _ in range(count))


def get_k(kind):
    return 32 // TYPES[kind][0]


def instruction(n, d, a, b, trans_a=None, trans_b=None, signs=(1, 1),
                registers=None, scale="%p5", first=0):
    """One product: A by its descriptor %rd5, or from registers; B by %rd6."""
    count = n // 4 if d == "f16" else n // 2
    to = ", ".join(f"%f{first + i}" for i in range(count))
    source = "{" + ", ".join(registers) + "}" if registers else "%rd5"
    flags = f", {signs[0]}, {signs[1]}"
    if trans_b is not None:
        flags += ("" if registers else f", {trans_a}") + f", {trans_b}"
    return f"wgmma.mma_async.sync.aligned.m64n{n}k{get_k(a)}.{d}.{a}.{b} " \
           f"{{{to}}}, {source}, %rd6, {scale}{flags};"


# The image goes into shared memory, and each thread gets its own address.
PROLOGUE = """
ld.param.u64 %rd1, [image];
ld.param.u64 %rd2, [table];
ld.param.u64 %rd3, [output];
mov.u32 %r1, %tid.x;
mov.u32 %r2, tile;
mul.wide.u32 %rd4, %r1, 16;
add.s64 %rd1, %rd1, %rd4;
shl.b32 %r3, %r1, 4;
add.s32 %r3, %r3, %r2;
mov.u32 %r4, 0;
FILL:
ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd1];
st.shared.v4.b32 [%r3], {%r5, %r6, %r7, %r8};
add.s64 %rd1, %rd1, 2048;
add.s32 %r3, %r3, 2048;
add.s32 %r4, %r4, 2048;
setp.lt.u32 %p1, %r4, TILE;
@%p1 bra FILL;
fence.proxy.async.shared::cta;
bar.sync 0;
shr.u32 %r9, %r2, 4;
cvt.u64.u32 %rd10, %r9;
"""


def issue(text, registers):
    """Products between a fence and a wait, then `registers` to global memory
    at %rd3, which moves on."""
    stores = "\n".join(f"st.global.b32 [%rd9+{512 * i}], %f{i};"
                       for i in range(registers))
    return f"""wgmma.fence.sync.aligned;
{text}
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
mul.wide.u32 %rd8, %r1, 4;
add.s64 %rd9, %rd3, %rd8;
{stores}
add.s64 %rd3, %rd3, {512 * registers};
"""


def extent(major, swizzle, rows, k_bytes, leading, stride, size):
    """An upper bound for the bytes that an operand reaches."""
    if not major:
        last = 7 * (16 << swizzle) + (rows // 8 - 1) * stride
        return last + (leading + 16 if not swizzle else k_bytes)
    k = k_bytes // size
    width = 8 << swizzle
    mm, kb = max(0, (rows - 1) // width), (k - 1) // 8
    if swizzle == 0:
        return (rows // 8 - 1) * stride + 7 * 16 + kb * leading + 16
    return mm * leading + 7 * (16 << swizzle) + kb * stride + width * 2


def pick_operand(rng, kind, major, rows):
    """A descriptor whose operand lies inside of the tile."""
    size = TYPES[kind][0]
    while True:
        swizzle = rng.randrange(4)
        start = 16 * rng.randrange(TILE // 32)
        leading, stride = (16 * rng.randrange(1, 129) for _ in range(2))
        if rng.random() < 0.5:
            stride = rng.choice((128, 256, 512, 1024))
        base = rng.randrange(8) if rng.random() < 0.3 else 0
        reach = start + extent(major, swizzle, rows, 32, leading, stride, size)
        if reach + 1024 < TILE:
            layout = {0: 0, 3: 1, 2: 2, 1: 3}[swizzle]
            return (start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 |
                    base << 49 | layout << 62)


def make_descriptors(kind, trans_a, trans_b, n, rounds):
    name = f"descriptors_{kind}_{trans_a}{trans_b}_n{n}"
    rng = make_random(name)
    table = b"".join(struct.pack("<QQ", pick_operand(rng, kind, trans_a, 64),
                                 pick_operand(rng, kind, trans_b, n))
                     for _ in range(rounds))
    transposes = (trans_a, trans_b) if kind in ("bf16", "f16") else (None, None)
    product = instruction(n, "f32", kind, kind, *transposes, scale="0")
    body = PROLOGUE.replace("TILE", str(TILE)) + f"""
mov.u32 %r10, 0;
ROUND:
ld.global.v2.b64 {{%rd5, %rd6}}, [%rd2];
add.s64 %rd5, %rd5, %rd10;
add.s64 %rd6, %rd6, %rd10;
{issue(product, n // 2)}
add.s64 %rd2, %rd2, 16;
add.s32 %r10, %r10, 1;
setp.lt.u32 %p2, %r10, {rounds};
@%p2 bra ROUND;
"""
    return Case(name, make_kernel(
        [".u64 image", ".u64 table", ".u64 output"], body,
        declarations=f".shared .align 1024 .b8 tile[{TILE}];"),
        [Array("image", (TILE // 4,), make_words(rng, kind, TILE // 4)),
         Array("table", (2 * rounds,), table, "i64"),
         zeros("output", 128 * n // 2 * rounds)],
        describe=lambda at: f"descriptors "
        "{:#x} {:#x}".format(*struct.unpack_from(
            "<QQ", table, at // (256 * n) * 16)))


def make_shapes(d, a, b, from_registers):
    """Every n, with operands as they lie in memory without a swizzle."""
    name = f"shapes_{d}_{a}_{b}_{'registers' if from_registers else 'memory'}"
    rng = make_random(name)
    body = PROLOGUE.replace("TILE", str(TILE))
    transposes = (0, 0) if a in ("bf16", "f16") else (None, None)
    # SBO 256, LBO 128; B behind A.
    body += f"add.s64 %rd5, %rd10, {8 << 16 | 16 << 32};\n" \
            f"add.s64 %rd6, %rd10, {128 | 8 << 16 | 16 << 32};\n" \
            "mul.wide.u32 %rd7, %r1, 16;\nadd.s64 %rd7, %rd2, %rd7;\n" \
            "ld.global.v4.b32 {%r20, %r21, %r22, %r23}, [%rd7];\n" \
            "setp.eq.u32 %p5, %r2, %r2;\n"
    starts, at = [], 0
    for number, n in enumerate(range(8, 257, 8)):
        count = n // 4 if d == "f16" else n // 2
        sources = [f"%r{20 + i}" for i in range(4)] if from_registers else None
        text = "\n".join(f"mov.b32 %f{i}, 0;" for i in range(count))
        body += text + "\n"
        signs = (1, 1) if number % 4 else (-1, 1) if number % 8 else (1, -1)
        body += issue("\n".join(
            instruction(n, d, a, b, *transposes, signs=signs,
                        registers=sources, scale=scale)
            for scale in ("0", "%p5")), count)
        starts.append((at, n))
        at += 512 * count
    table = make_words(rng, a, 512)
    image = make_words(rng, a, 512) + make_words(rng, b, TILE // 4 - 512)
    return Case(name, make_kernel(
        [".u64 image", ".u64 table", ".u64 output"], body,
        declarations=f".shared .align 1024 .b8 tile[{TILE}];"),
        [Array("image", (TILE // 4,), image), Array("table", (512,), table),
         zeros("output", at // 4)],
        describe=lambda where: f"n {[n for s, n in starts if s <= where][-1]}")


#===----------------------------------------------------------------------===#
# Numerics
#===----------------------------------------------------------------------===#

FORMATS = {"bf16": (8, 7), "f16": (5, 10), "tf32": (8, 23), "e4m3": (4, 3),
           "e5m2": (5, 2), "f32": (8, 23)}
DISTRIBUTIONS = ("raw", "near", "wide", "tiny", "huge", "sparse", "cancel",
                 "special")


def pick_number(rng, kind, how):
    exponent_bits, fraction_bits = FORMATS[kind]
    width = exponent_bits + fraction_bits
    bias = (1 << (exponent_bits - 1)) - 1
    top = (1 << exponent_bits) - (1 if kind != "e4m3" else 0)
    sign = rng.getrandbits(1) << width
    fraction = rng.getrandbits(fraction_bits)
    if how == "sparse" and rng.random() < 0.8:
        return sign
    if how == "special" and rng.random() < 0.03:
        return sign | ((1 << exponent_bits) - 1) << fraction_bits | \
            rng.choice((0, (1 << fraction_bits) - 1))
    if how == "raw":
        exponent = rng.randrange(top)
    elif how == "tiny":
        exponent = rng.randrange(min(3, top))
    elif how == "huge":
        exponent = rng.randrange(max(0, top - 4), top)
    elif how == "wide":
        exponent = bias + rng.randrange(-min(14, bias), min(14, bias))
    else:
        exponent = bias + rng.randrange(-2, 3)
    if kind == "e4m3" and exponent == 15:
        fraction = min(fraction, 6)
    return sign | exponent << fraction_bits | fraction


def pack_numbers(rng, kind, how, count):
    bits = 8 * {"bf16": 2, "f16": 2, "tf32": 4, "f32": 4}.get(kind, 1)
    numbers = [pick_number(rng, kind, how) for _ in range(count)]
    if how == "cancel":
        for i in range(1, count, 2):
            numbers[i] = numbers[i - 1] ^ (1 << (bits - 1))
    return b"".join(x.to_bytes(bits // 8, "little") for x in numbers)


def make_numerics(d, a, b, rounds=24):
    """A and C from registers; B, of 8 columns, in memory."""
    name = f"numerics_{d}_{a}_{b}"
    rng = make_random(name)
    k, c_words = get_k(a), 2 if d == "f16" else 4
    size_a, size_b = 64 * 32, 8 * 32
    image, table = b"", b""
    for number in range(rounds):
        how = DISTRIBUTIONS[number % len(DISTRIBUTIONS)]
        table += pack_numbers(rng, a, how, 64 * k)
        image += pack_numbers(rng, b, "near" if how in ("huge", "cancel")
                              else how, 8 * k)
        table += pack_numbers(rng, d, how, 64 * 8)
    pitch = size_a + 64 * 8 * (4 if d == "f32" else 2)
    transposes = (0, 0) if a in ("bf16", "f16") else (None, None)
    sources = [f"%r{20 + i}" for i in range(4)]
    loads = "\n".join(f"ld.global.b32 %f{i}, [%rd7+{size_a + 512 * i}];"
                      for i in range(c_words))
    variants = "\n".join(
        loads + "\n" + issue(instruction(8, d, a, b, *transposes, signs=signs,
                                         registers=sources, scale=scale),
                             c_words)
        for signs, scale in (((1, 1), "1"), ((-1, 1), "1"), ((1, -1), "0")))
    body = PROLOGUE.replace("TILE", str(TILE)) + f"""
mov.u32 %r10, 0;
add.s64 %rd6, %rd10, {8 << 16 | 16 << 32};
ROUND:
mul.wide.u32 %rd7, %r1, 16;
add.s64 %rd7, %rd2, %rd7;
ld.global.v4.b32 {{%r20, %r21, %r22, %r23}}, [%rd7];
mul.wide.u32 %rd7, %r1, 4;
add.s64 %rd7, %rd2, %rd7;
{variants}
add.s64 %rd2, %rd2, {pitch};
add.s64 %rd6, %rd6, {size_b // 16};
add.s32 %r10, %r10, 1;
setp.lt.u32 %p2, %r10, {rounds};
@%p2 bra ROUND;
"""
    image += bytes(TILE - len(image))

    def describe(at):
        step, part = divmod(at // (512 * c_words), 3)
        return f"{DISTRIBUTIONS[step % len(DISTRIBUTIONS)]}, round {step}, " \
               f"variant {part}"

    return Case(name, make_kernel(
        [".u64 image", ".u64 table", ".u64 output"], body,
        declarations=f".shared .align 1024 .b8 tile[{TILE}];"),
        [Array("image", (TILE // 4,), image),
         Array("table", (len(table) // 4,), table),
         zeros("output", 3 * 128 * c_words * rounds)], describe=describe)


PAIRS = [("f32", "bf16", "bf16"), ("f32", "f16", "f16"), ("f16", "f16", "f16"),
         ("f32", "tf32", "tf32"), ("f32", "e4m3", "e4m3"),
         ("f32", "e5m2", "e4m3"), ("f16", "e4m3", "e5m2"),
         ("f16", "e5m2", "e5m2")]


def get_cases():
    cases = []
    for kind in TYPES:
        majors = [(0, 0)]
        if kind in ("bf16", "f16"):
            majors = [(a, b) for a in (0, 1) for b in (0, 1)]
        for trans_a, trans_b in majors:
            cases += [make_descriptors(kind, trans_a, trans_b, 8, 96),
                      make_descriptors(kind, trans_a, trans_b, 128, 12)]
    for d, a, b in PAIRS:
        cases += [make_shapes(d, a, b, False), make_shapes(d, a, b, True),
                  make_numerics(d, a, b)]
    return cases
