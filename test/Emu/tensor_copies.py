"""Checks tcgen05.cp: every shape and swizzle, for one CTA and for a pair.

Rows of random words are laid out in shared memory here, by the formulas of PTX
ISA 9.7.16.3; where they land in tensor memory is computed by those of 9.7.16.9.
Cells that no row reaches must stay as they are.
"""

import itertools
import random
import struct
import subprocess
import sys

from products import swizzle
from tensor_products import write_npy

IMAGE, COLUMNS, FIRST = 16384, 32, 8
# Rows, bytes of one, and the row that a lane gets.
SHAPES = {
    "128x256b": (128, 32, lambda lane: lane),
    "128x128b": (128, 16, lambda lane: lane),
    "64x128b.warpx2::02_13": (64, 16, lambda lane: lane % 64),
    "64x128b.warpx2::01_23": (64, 16, lambda lane: lane // 64 * 32 + lane % 32),
    "32x128b.warpx4": (32, 16, lambda lane: lane % 32),
    "4x256b": (4, 32, lambda lane: None if lane % 32 else lane // 32)}


def lay_out(rows, swizzle_bits, image):
    """Puts rows into an image of shared memory; the descriptor. Without swizzle
    the halves of a row are 8 units of 16 bytes apart."""
    pitch = 16 << swizzle_bits
    leading, stride = 128, 8 * pitch if swizzle_bits else 256
    for number, row in enumerate(rows):
        for unit in range(len(row) // 16):
            linear = (number % 8 * pitch + number // 8 * stride +
                      unit * (16 if swizzle_bits else leading))
            at = swizzle(linear, swizzle_bits)
            image[at:at + 16] = row[16 * unit:16 * unit + 16]
    code = (0, 6, 4, 2)[swizzle_bits]
    return (1024 >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | 1 << 46 |
            code << 61)


def make_kernel(shape, group, lane, descriptor):
    everybody = "" if group == 1 else \
        "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n"
    commit = (".shared::cluster.multicast::cluster.b64 [%r9], %rs1"
              if group == 2 else ".shared::cluster.b64 [%r9]")
    return f""".version 8.7
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 image, .param .u64 cells)
.reqntid 128
.reqnctapercluster {group}
{{
  .reg .pred %p<6>;
  .reg .b32 %r<20>;
  .reg .b16 %rs<2>;
  .reg .b64 %rd<16>;
  .shared .align 1024 .b8 tile[{IMAGE}];
  .shared .align 8 .b8 bars[16];
  .shared .align 4 .b8 slot[4];
  ld.param.u64 %rd1, [image];
  ld.param.u64 %rd2, [cells];
  mov.u32 %r1, %tid.x;
  mov.u32 %r10, %cluster_ctarank;
  mul.wide.u32 %rd3, %r10, {IMAGE};
  add.s64 %rd1, %rd1, %rd3;
  mul.wide.u32 %rd3, %r10, {128 * COLUMNS * 4};
  add.s64 %rd2, %rd2, %rd3;
  setp.eq.u32 %p1, %r1, 0;
  setp.lt.u32 %p2, %r1, 32;
  @%p1 mbarrier.init.shared.b64 [bars], 1;
  @%p1 mbarrier.init.shared.b64 [bars+8], 1;
  @%p1 fence.mbarrier_init.release.cluster;
  @!%p2 bra READY;
  tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [slot], {COLUMNS};
READY:
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
{everybody}  @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bars], {IMAGE};
  @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], {IMAGE}, [bars];
  ld.shared.b32 %r2, [slot];
  shr.u32 %r3, %r1, 5;
  shl.b32 %r3, %r3, 21;
  add.s32 %r4, %r2, %r3;
  mul.wide.u32 %rd4, %r1, {COLUMNS * 4};
  add.s64 %rd5, %rd2, %rd4;
  mov.u32 %r5, 0;
FILL:
  mad.lo.s32 %r6, %r1, {COLUMNS}, %r5;
  add.s32 %r7, %r4, %r5;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r7], {{%r6}};
  add.s32 %r5, %r5, 1;
  setp.lt.u32 %p3, %r5, {COLUMNS};
  @%p3 bra FILL;
  tcgen05.wait::st.sync.aligned;
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p4, [bars], 0;
  @!%p4 bra WAIT;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
{everybody}  tcgen05.fence::after_thread_sync;
  mov.b64 %rd6, {descriptor};
  mov.b16 %rs1, 3;
  mov.u32 %r9, bars;
  add.s32 %r9, %r9, 8;
  setp.ne.u32 %p5, %r10, 0;
  @%p5 bra ISSUED;
  @!%p1 bra ISSUED;
  tcgen05.cp.cta_group::{group}.{shape} [%r2+{(lane << 16) + FIRST}], %rd6;
  tcgen05.commit.cta_group::{group}.mbarrier::arrive::one{commit};
ISSUED:
  mbarrier.try_wait.parity.shared.b64 %p4, [bars+8], 0;
  @!%p4 bra ISSUED;
  tcgen05.fence::after_thread_sync;
  mov.u32 %r5, 0;
DUMP:
  add.s32 %r7, %r4, %r5;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r6}}, [%r7];
  tcgen05.wait::ld.sync.aligned;
  mul.wide.u32 %rd8, %r5, 4;
  add.s64 %rd9, %rd5, %rd8;
  st.global.b32 [%rd9], %r6;
  add.s32 %r5, %r5, 1;
  setp.lt.u32 %p3, %r5, {COLUMNS};
  @%p3 bra DUMP;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
{everybody}  @!%p2 bra DONE;
  tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;
  tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 %r2, {COLUMNS};
DONE:
  ret;
}}
"""


def check(tool, scratch, shape, swizzle_bits, group, lane):
    count, size, get_row = SHAPES[shape]
    rng = random.Random(f"{shape} {swizzle_bits}")
    images, parts = bytearray(), []
    for _ in range(group):
        image = bytearray(IMAGE)
        rows = [rng.randbytes(size) for _ in range(count)]
        descriptor = lay_out(rows, swizzle_bits, image)
        images += image
        parts.append(rows)
    with open(scratch, "w") as file:
        file.write(make_kernel(shape, group, lane, descriptor))
    write_npy(scratch + ".image.npy", images)
    result = subprocess.run(
        [tool, scratch, "--arg", f"image=i32:{scratch}.image.npy", "--arg",
         f"cells=i32:none:{group * 128 * COLUMNS}", "--print", "cells",
         f"--grid={group}"], capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        return result.stderr
    line = next(x for x in result.stdout.splitlines()
                if x.startswith("cells:"))
    got = [int(x) & 0xffffffff for x in line.split()[1:]]
    want = list(range(128 * COLUMNS)) * group
    for cta, rows in enumerate(parts):
        for number in range(128 - lane):
            row = get_row(number)
            if row is None:
                continue
            words = struct.unpack(f"<{size // 4}I", rows[row])
            at = (cta * 128 + number + lane) * COLUMNS + FIRST
            want[at:at + len(words)] = words
    for at, (x, y) in enumerate(zip(got, want)):
        if x != y:
            return (f"CTA {at // COLUMNS // 128}, lane {at // COLUMNS % 128}, "
                    f"column {at % COLUMNS}: {x:#x}, not {y:#x}")
    return ""


def main():
    tool, scratch = sys.argv[1:]
    count = failures = 0
    for shape, bits, group in itertools.product(SHAPES, range(4), (1, 2)):
        for lane in (0, 5) if shape == "4x256b" else (0,):
            wrong = check(tool, scratch, shape, bits, group, lane)
            count += 1
            if wrong:
                failures += 1
                print(f"{shape}, swizzle {bits}, {group} CTAs, lane {lane}: "
                      f"{wrong}")
    print(f"{count} copies, {failures} failures")


if __name__ == "__main__":
    main()
