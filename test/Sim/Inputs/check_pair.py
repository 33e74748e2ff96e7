# ===- check_pair.py - The products of pair.mlir -*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Makes the factors of pair.mlir and pair_few_rows.mlir, or checks what comes of
them. The factors are -1, 0 and 1, so that every sum is a whole number that its
type has."""

import sys

import numpy


def make(steps, x, w, rows):
    generator = numpy.random.default_rng(1)
    for path, count in ((x, rows), (w, 128)):
        values = generator.integers(-1, 2, (steps * count, 64))
        numpy.save(path, values.astype(numpy.float32))


def check(x, w, y):
    x, w, y = numpy.load(x), numpy.load(w), numpy.load(y)
    steps = len(w) // 128
    x = x.reshape(steps, -1, 64)
    w = w.reshape(steps, 128, 64)
    scores = x @ w.transpose(0, 2, 1)
    right = (scores @ w if y.shape[1] == 64 else scores).sum(axis=0)
    print(f"{y.size} elements, wrong: {(right != y).sum()}")


if sys.argv[1] == "--make":
    make(int(sys.argv[2]), *sys.argv[3:5],
         int(sys.argv[5]) if len(sys.argv) > 5 else 256)
else:
    check(*sys.argv[1:])
