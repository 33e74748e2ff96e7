# ===- scaled_products.py - Scales of blocks, and sums ------*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""The scales of scaled_products.mlir, and whether its sums are right.

    scaled_products.py make SA.npy SB.npy
    scaled_products.py check A.npy B.npy SA.npy SB.npy C.npy ALLOWED

Scales are powers of two, of type ue8m0: those of 128 rows and 4 blocks of 32 of K are
128 cells of 4 bytes, row r at byte 16 (r mod 32) + 4 (r / 32). ALLOWED is the error
of a sum, relative to the sum of the magnitudes of its products.
"""

import random
import struct
import sys

DEPTH, BLOCK, ROWS_A, ROWS_B = 256, 32, 128, 160


def write_words(path, words):
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(words)},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                   header.encode() + struct.pack(f"<{len(words)}i", *words))


def read(path, code):
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + data[8] + 256 * data[9]
    return struct.unpack(f"<{(len(data) - begin) // 4}{code}", data[begin:])


def get_scale(data, rows, row, block):
    groups = -(-rows // 128)
    at = (block // 4 * groups + row // 128) * 512
    at += row % 32 * 16 + row % 128 // 32 * 4 + block % 4
    return 2.0 ** (data[at] - 127)


if sys.argv[1] == "make":
    rng = random.Random(1)
    for path, rows in ((sys.argv[2], ROWS_A), (sys.argv[3], ROWS_B)):
        count = -(-rows // 128) * DEPTH // BLOCK // 4 * 512
        data = bytes(rng.randrange(120, 135) for _ in range(count))
        write_words(path, struct.unpack(f"<{count // 4}i", data))
else:
    a, b = read(sys.argv[2], "f"), read(sys.argv[3], "f")
    sa, sb = (struct.pack(f"<{len(w)}i", *w)
              for w in (read(sys.argv[4], "i"), read(sys.argv[5], "i")))
    c = read(sys.argv[6], "f")
    allowed = float(sys.argv[7])
    left = [[a[r * DEPTH + k] * get_scale(sa, ROWS_A, r, k // BLOCK)
             for k in range(DEPTH)] for r in range(ROWS_A)]
    right = [[b[r * DEPTH + k] * get_scale(sb, ROWS_B, r, k // BLOCK)
              for k in range(DEPTH)] for r in range(ROWS_B)]
    assert len(c) == ROWS_A * ROWS_B
    for i, found in enumerate(c):
        products = [x * y for x, y in zip(left[i // ROWS_B], right[i % ROWS_B])]
        if not abs(found - sum(products)) <= allowed * sum(map(abs, products)):
            sys.exit(f"expected {sum(products)} in row {i // ROWS_B}, column "
                     f"{i % ROWS_B}, but got {found}")
    print(f"{len(c)} sums of products of scaled blocks")
