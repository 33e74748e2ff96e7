"""Checks tcgen05.cp: every shape and swizzle, for one CTA and for a pair.

Rows of random words are laid out in shared memory here, by the formulas of PTX
ISA 9.7.16.3; where they land in tensor memory is computed by those of 9.7.16.9.
Cells that no row reaches must stay as they are.
"""

import itertools
import random
import struct
import sys

from products import swizzle
from tensor_products import describe_cell, make_frame, run, write_npy

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
    # A cell holds its own number.
    fill = f"  mad.lo.s32 %r6, %r1, {COLUMNS}, %r5;\n"
    issue = (f"  tcgen05.cp.cta_group::{group}.{shape} "
             f"[%r2+{(lane << 16) + FIRST}], %rd6;\n")
    return make_frame(group, IMAGE, COLUMNS, fill,
                      f"  mov.b64 %rd6, {descriptor};\n", issue)


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
    got, wrong = run(tool, scratch, group, f"none:{group * 128 * COLUMNS}")
    if wrong:
        return wrong
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
            return describe_cell(at, COLUMNS, x, y)
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
