# ===- copy_cases.py - Bulk and tensor copies *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Tensor copies of boxes in and out of bounds, whose shared memory is dumped,
sentinels and all; stores, reductions; bulk copies and bulk reductions."""

import itertools
import struct

import scalar
from case import ELEMENTS, Array, Case, TensorMap, make_kernel, make_random, \
    words, zeros

TILE = 8192

# For each row of the table: a tile of sentinels, a load, a dump, and a store of
# the same tile at coordinates of its own.
TENSOR = """
mov.b64 %rd1, x;
cvta.param.u64 %rd1, %rd1;
mov.b64 %rd2, y;
cvta.param.u64 %rd2, %rd2;
ld.param.u64 %rd3, [table];
ld.param.u64 %rd4, [output];
mov.u32 %r1, %tid.x;
setp.eq.u32 %p1, %r1, 0;
mov.u32 %r2, tile;
@%p1 mbarrier.init.shared.b64 [bar], 1;
mov.u32 %r4, 0;
ROUND:
shl.b32 %r5, %r1, 4;
add.s32 %r5, %r5, %r2;
mov.u32 %r6, 0;
FILL:
st.shared.v4.b32 [%r5], {0x77777777, 0x77777777, 0x77777777, 0x77777777};
add.s32 %r5, %r5, 512;
add.s32 %r6, %r6, 512;
setp.lt.u32 %p2, %r6, TILE;
@%p2 bra FILL;
fence.proxy.async.shared::cta;
bar.sync 0;
LOADS
@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], BYTES;
@%p1 cp.async.bulk.tensor.RANKd.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile+SHIFT], [%rd1, {FROM}], [bar];
and.b32 %r7, %r4, 1;
WAIT:
mbarrier.try_wait.parity.shared.b64 %p2, [bar], %r7;
@!%p2 bra WAIT;
shl.b32 %r5, %r1, 4;
add.s32 %r5, %r5, %r2;
mul.wide.u32 %rd5, %r1, 16;
add.s64 %rd5, %rd4, %rd5;
mov.u32 %r6, 0;
DUMP:
ld.shared.v4.b32 {%r60, %r61, %r62, %r63}, [%r5];
st.global.v4.b32 [%rd5], {%r60, %r61, %r62, %r63};
add.s32 %r5, %r5, 512;
add.s64 %rd5, %rd5, 512;
add.s32 %r6, %r6, 512;
setp.lt.u32 %p2, %r6, TILE;
@%p2 bra DUMP;
@!%p1 bra NEXT;
STORE [%rd2, {TO}], [tile+SHIFT];
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
NEXT:
fence.proxy.async.shared::cta;
bar.sync 0;
add.s64 %rd3, %rd3, 40;
add.s64 %rd4, %rd4, TILE;
add.s32 %r4, %r4, 1;
setp.lt.u32 %p2, %r4, ROUNDS;
@%p2 bra ROUND;
"""


def pick_start(rng, extent, box, unit, is_store):
    """Inside, across an end, or outside; the innermost in steps of 16 bytes."""
    low = 0 if is_store else -box - 2
    value = rng.choice((0, 0, rng.randint(low, extent), extent - box // 2,
                        rng.randint(low, 0), extent + 3 if is_store else -1,
                        2147483000))
    value = max(value, 0) if is_store else value
    return value // unit * unit


def make_tensor(name, element, extents, box, swizzle, reduction="", shift=0,
                rounds=10):
    """Extents and the box are innermost first."""
    rng = make_random(name)
    rank, size = len(box), ELEMENTS[element][1]
    table = []
    for _ in range(rounds):
        row = []
        for is_store in (False, True):
            row += [pick_start(rng, extents[d], box[d], 16 // size if d == 0
                               else 1, is_store) for d in range(rank)]
            row += [0] * (5 - rank)
        table += row
    shape = tuple(reversed(extents))
    # Rows in memory are longer than those of the tensor.
    unit = 16 // size
    shape = shape[:-1] + ((shape[-1] + 2 * unit - 1) // unit * unit,)
    count = 1
    for extent in shape:
        count *= extent
    rows = 1
    for extent in box[1:]:
        rows *= extent
    store = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta." \
            f"{reduction}.tile.bulk_group" if reduction else \
            f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group"
    source = "{" + ", ".join(f"%r{70 + d}" for d in range(rank)) + "}"
    target = "{" + ", ".join(f"%r{80 + d}" for d in range(rank)) + "}"
    loads = "\n".join(f"ld.global.b32 %r{70 + d}, [%rd3+{4 * d}];\n"
                      f"ld.global.b32 %r{80 + d}, [%rd3+{20 + 4 * d}];"
                      for d in range(rank))
    body = TENSOR
    for key, value in (("LOADS", loads), ("STORE", store), ("{FROM}", source),
                       ("{TO}", target), ("RANK", rank), ("TILE", TILE),
                       ("SHIFT", shift), ("ROUNDS", rounds),
                       ("BYTES", rows * box[0] * size)):
        body = body.replace(key, str(value))

    def fill():
        if element in ("f32", "bf16", "f16"):
            kind = {"f32": "f", "bf16": "f", "f16": "e"}[element]
            numbers = [rng.randrange(-99, 100) for _ in range(count)]
            packed = [struct.pack("<" + kind, v) for v in numbers]
            return b"".join(p[2:] if element == "bf16" else p for p in packed)
        return rng.randbytes(count * size)

    arrays = [Array("x", shape, fill(), element),
              Array("y", shape, fill(), element, True),
              words("table", table), zeros("output", TILE // 4 * rounds)]
    first = count * size

    def describe(at):
        if at < first:
            return f"element {at // size} of y"
        step = (at - first) // TILE
        return f"byte {(at - first) % TILE} of the tile at " \
               f"{table[10 * step:10 * step + rank]}"

    return Case(name, make_kernel(
        [".align 64 .b8 x[128]", ".align 64 .b8 y[128]", ".u64 table",
         ".u64 output"], body, 32,
        declarations=f".shared .align 1024 .b8 tile[{TILE}];\n"
                     ".shared .align 8 .b8 bar[8];"), arrays,
        maps=[TensorMap(n, extents, box, swizzle) for n in ("x", "y")],
        block=32, describe=describe)


def list_tensors():
    shapes = {1: ((100,), ()), 2: ((72, 11), (7,)), 3: ((56, 5, 4), (3, 2)),
              4: ((40, 5, 4, 3), (2, 3, 2)), 5: ((40, 3, 4, 3, 2), (2, 2, 1, 2))}
    for rank, swizzle in itertools.product(shapes, (0, 32, 64, 128)):
        extents, outer = shapes[rank]
        for element in ("i16", "i32") if rank in (2, 3) else ("i16",):
            size = ELEMENTS[element][1]
            widths = {0: (16, 48), 32: (16, 32), 64: (16, 48, 64),
                      128: (32, 80, 128)}[swizzle]
            for width in widths if rank == 2 else widths[-2:]:
                yield make_tensor(
                    f"tensor_{rank}d_{element}_s{swizzle}_w{width}", element,
                    extents, (width // size,) + outer, swizzle,
                    shift=rank % 3 * 128)
    yield make_tensor("tensor_bytes", "i8", (160, 11), (64, 7), 64)
    # Rows that end within 16 bytes.
    yield make_tensor("tensor_ragged_2d", "i16", (69, 11), (32, 7), 64)
    yield make_tensor("tensor_ragged_3d", "i32", (17, 5, 4), (8, 3, 2), 0)
    yield make_tensor("reduce_ragged", "i32", (17, 9), (8, 6), 0, "add",
                      rounds=4)
    yield make_tensor("tensor_longs", "i64", (20, 11), (8, 7), 64)
    for element, op in [("f32", "add"), ("bf16", "add"), ("f16", "add"),
                        ("bf16", "min"), ("bf16", "max"), ("f16", "min"),
                        ("f16", "max"), ("i32", "add"), ("i32", "min"),
                        ("i32", "max"), ("i32", "and"), ("i32", "or"),
                        ("i32", "xor"), ("i64", "min"), ("i64", "max")]:
        size = ELEMENTS[element][1]
        yield make_tensor(f"reduce_{element}_{op}", element, (80, 9),
                          (64 // size, 6), 64, reduction=op, rounds=4)


#===----------------------------------------------------------------------===#
# Bytes in a row
#===----------------------------------------------------------------------===#

BULK = """
ld.param.u64 %rd1, [input];
ld.param.u64 %rd2, [output];
mov.u32 %r1, %tid.x;
setp.eq.u32 %p1, %r1, 0;
@%p1 mbarrier.init.shared.b64 [bar], 1;
fence.proxy.async.shared::cta;
bar.sync 0;
@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 4096;
@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 16, [bar];
@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile+16], [%rd1+16], 1008, [bar];
@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile+1024], [%rd1+1024], 3072, [bar];
WAIT:
mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
@!%p2 bra WAIT;
@!%p1 bra END;
STORES
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;
END:
"""

REDUCTIONS = [("add", kind) for kind in ("u32", "s32", "u64", "f32", "f64")] + \
    [(op, kind) for op in ("min", "max") for kind in ("u32", "s32", "u64",
                                                      "s64", "f16", "bf16")] + \
    [(op, kind) for op in ("and", "or", "xor") for kind in ("b32", "b64")] + \
    [("inc", "u32"), ("dec", "u32"), ("add.noftz", "f16"),
     ("add.noftz", "bf16")]


def make_bulk():
    """Copies in and out, and each reduction of the same 2048 bytes."""
    stores = ["cp.async.bulk.global.shared::cta.bulk_group [%rd2], [tile], "
              "4096;"]
    for i, (op, kind) in enumerate(REDUCTIONS):
        stores.append("cp.reduce.async.bulk.global.shared::cta.bulk_group."
                      f"{op}.{kind} [%rd2+{4096 + 2048 * i}], [tile+2048], "
                      "2048;")
    rng = make_random("bulk")
    raw = scalar.make_inputs(rng, scalar.SINGLES, scalar.pick_single, True)
    data = raw[:4096]
    target = raw[4096:4096 + 4096]
    for _, kind in REDUCTIONS:
        edges = {"f16": scalar.HALVES, "bf16": scalar.HALVES,
                 "f64": scalar.DOUBLES}.get(kind, scalar.SINGLES)
        pack = kind != "f64"
        target += scalar.make_inputs(rng, edges, scalar.pick_halves,
                                     pack)[-2048 - 8192:-8192]

    def describe(at):
        if at < 4096:
            return "the copy"
        op, kind = REDUCTIONS[(at - 4096) // 2048]
        return f"{op}.{kind}, byte {(at - 4096) % 2048}"

    return Case("bulk", make_kernel(
        [".u64 input", ".u64 output"],
        BULK.replace("STORES", "\n".join(stores)), 32,
        declarations=".shared .align 128 .b8 tile[4096];\n"
                     ".shared .align 8 .b8 bar[8];"),
        [Array("input", (1024,), data),
         Array("output", (len(target) // 4,), target, is_output=True)],
        block=32, describe=describe)


def get_cases():
    return [make_bulk()] + list(list_tensors())
