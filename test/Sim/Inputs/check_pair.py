# ===- check_pair.py - The products of pair.mlir ------------*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Makes the factors of pair.mlir and pair_few_rows.mlir, or checks what comes of
them. The factors are -1, 0 and 1, so that every sum is a whole number that its
type has.

    check_pair.py --make STEPS X W [ROWS]
    check_pair.py X W Y
"""

import random
import re
import struct
import sys

DEPTH, COLUMNS = 64, 128


def write(path, rows):
    header = (f"{{'descr': '<f4', 'fortran_order': False, "
              f"'shape': ({len(rows)}, {len(rows[0])}), }}")
    header = header.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                   header.encode())
        for row in rows:
            file.write(struct.pack(f"<{len(row)}f", *row))


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    end = 10 + struct.unpack("<H", data[8:10])[0]
    width = int(re.search(rb"\(\d+, ?(\d+),? ?\)", data[:end])[1])
    numbers = struct.unpack(f"<{(len(data) - end) // 4}f", data[end:])
    return [numbers[i:i + width] for i in range(0, len(numbers), width)]


def multiply(a, b_columns):
    return [[sum(x * y for x, y in zip(row, column)) for column in b_columns]
            for row in a]


def add(a, b):
    return [[x + y for x, y in zip(*rows)] for rows in zip(a, b)]


def make(steps, x, w, rows):
    generator = random.Random(1)
    for path, count in ((x, rows), (w, COLUMNS)):
        write(path, [[generator.randint(-1, 1) for _ in range(DEPTH)]
                     for _ in range(steps * count)])


def check(x, w, y):
    x, w, y = read(x), read(w), read(y)
    steps, rows = len(w) // COLUMNS, len(y)
    right = [[0] * len(y[0]) for _ in y]
    for i in range(steps):
        step_x = x[i * rows:(i + 1) * rows]
        step_w = w[i * COLUMNS:(i + 1) * COLUMNS]
        # X W^T, or (X W^T) W = X (W^T W).
        columns = list(zip(*step_w))
        factor = multiply(columns, columns) if len(y[0]) == DEPTH else step_w
        right = add(right, multiply(step_x, factor))
    wrong = sum(a != b for rows in zip(y, right) for a, b in zip(*rows))
    print(f"{rows * len(y[0])} elements, wrong: {wrong}")


if sys.argv[1] == "--make":
    make(int(sys.argv[2]), *sys.argv[3:5],
         int(sys.argv[5]) if len(sys.argv) > 5 else 256)
else:
    check(*sys.argv[1:])
