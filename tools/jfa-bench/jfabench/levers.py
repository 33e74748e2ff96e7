# ===- levers.py - What each lever brings -------------- -*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""The levers of scheduling, each alone: what is shipped against the same with one
lever changed, on one shape, in one run."""

import statistics

from .timing import gains, spread
from .variants import Set, Variant

# As in jfa-c/Runtime.h.
WORK_ORDERS = {"balanced": 0, "dealt": 1, "strided": 2, "unsorted": 3,
               "unsectioned": 4}

# The name of a lever, what it is without, and what that changes.
COMPILED = [
    ("turns of the warpgroups", "PINGPONG=false", {"PINGPONG": "false"}),
    ("depth of the K/V ring", "STAGES=1", {"STAGES": "1"}),
    ("depth of the K/V ring", "STAGES=3, BLOCK_N=80",
     {"STAGES": "3", "BLOCK_N": "80"}),
    ("the next tile's queries read ahead", "Q_STAGES=1", {"Q_STAGES": "1"}),
    ("query rows of a tile", "BLOCK_M=64, PINGPONG=false",
     {"BLOCK_M": "64", "PINGPONG": "false"}),
    ("query rows of a tile", "BLOCK_M=192, 32/160 registers",
     {"BLOCK_M": "192", "LOAD_REGISTERS": "32", "SOFTMAX_REGISTERS": "160"}),
    ("keys of a step", "BLOCK_N=64", {"BLOCK_N": "64"}),
    ("keys of a step", "BLOCK_N=96", {"BLOCK_N": "96"}),
    ("depth of the dO ring", "DO_STAGES=1", {"DO_STAGES": "1"}),
    ("buffers of dS", "DS_STAGES=1", {"DS_STAGES": "1"}),
    ("register budgets", "64/208 registers",
     {"LOAD_REGISTERS": "64", "SOFTMAX_REGISTERS": "208"}),
]
RUN = [
    ("search for who has least to do", "dealt back and forth", "dealt"),
    ("balanced before launch", "tile i to SM i mod n", "strided"),
    ("longest first", "as in the batch", "unsorted"),
    ("sections that fit L2", "one section", "unsectioned"),
]


def lever_sets(rows):
    """A set for each row: as shipped, and with each lever changed."""
    result = []
    for row in rows:
        shipped = row.tunables
        variants = [Variant("as shipped", shipped)]
        for lever, without, change in COMPILED:
            tunables = {**shipped, **change}
            if set(change) <= set(shipped) and tunables != shipped:
                variants.append(Variant(f"{lever}: {without}", tunables))
        for lever, without, order in RUN:
            variants.append(
                Variant(f"{lever}: {without}", shipped, work_order=order))
        result.append(Set(row.line, row.first_problem(), variants))
    return result


def table(timings, refused):
    """A Markdown table of timings as of jfabench.tune, and of the levers that were
    refused, with the reasons."""
    lines = ["| shape | lever: without it | ms | shipped ms | brings | spread |",
             "|---|---|---|---|---|---|"]
    for shape, times in timings.items():
        shipped = times["as shipped"]
        for name, values in times.items():
            if name == "as shipped":
                continue
            ratios = gains(values, shipped)
            lines.append(
                f"| {shape} | {name} | {statistics.median(values):.3f} | "
                f"{statistics.median(shipped):.3f} | "
                f"{statistics.median(ratios):.3f} | {spread(ratios):.3f} |")
        for name, reason in refused.items():
            lines.append(f"| {shape} | {name} | - | "
                         f"{statistics.median(shipped):.3f} | - | {reason} |")
    return "\n".join(lines) + "\n"
