# ===- check_cluster.py - Did each CTA get every half? ------*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Says whether each CTA has the sums of cluster.mlir's input."""

import sys

from check_tiles import check, read_npy

CTAS, TILES, ROWS, COLUMNS = 4, 5, 64, 32
SUMS = [float(sum((tile * ROWS + row) * COLUMNS + column
                  for tile in range(TILES) for column in range(COLUMNS)))
        for row in range(ROWS)]
check("sums of each CTA", read_npy(sys.argv[1]), SUMS * CTAS)
