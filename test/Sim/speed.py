#!/usr/bin/env python3
# ===- speed.py - How long the simulator takes --------------*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Measures jfa-sim on the attention forward against what it may take.

Times are those of the processor (user), start of the process included.
"""

import argparse
import resource
import subprocess
import sys

LENGTHS = "--lengths=" + ",".join(["512"] * 8)
RUNS = [
    ("values", 10.0, [LENGTHS, "--heads=2"]),
    ("order only", 1.0, [LENGTHS, "--heads=2", "--order"]),
    ("tlx-verify-protocol", 0.3, ["--verify"]),
]


def measure(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel")
    parser.add_argument("--jfa-sim", default="jfa-sim")
    options = parser.parse_args()
    slow = False
    for what, limit, arguments in RUNS:
        took = measure([options.jfa_sim, options.kernel, "-D", "HEAD_DIM=128",
                        *arguments])
        slow |= took > limit
        print(f"{what}: {took:.2f} s, at most {limit} s allowed")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
