# ===- check_ones.py - Was every element's work done once? --*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Says whether all elements of an array of f32 are 1."""

import sys

from check_tiles import read_npy

values = read_npy(sys.argv[1])
wrong = [i for i, value in enumerate(values) if value != 1]
if wrong or not values:
    sys.exit(f"expected 1 everywhere, but element {wrong[:1]} is another")
print("1 everywhere")
