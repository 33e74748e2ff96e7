#!/usr/bin/env python3
# ===- generate.py - Random pipelines for the simulator -----*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Makes random well-formed pipelines and runs them in jfa-sim.

A task loads tiles; a chain of tasks passes them on through rings of their own,
each adding one; one or more replicas of a last task sum them. Every one of
them has to run without a report, under every schedule, and to give the sum.
"""

import argparse
import os
import random
import struct
import subprocess
import sys
import tempfile

ROWS, COLUMNS = 8, 32
SCHEDULES = ["eager", "late", "random:{seed}", "pct:3:{seed}"]

HEADER = """\
!map = !tlx.tensormap<[{rows}, {columns}], f32>
!tile = !tlx.memdesc<[{rows}, {columns}], f32>
!values = tensor<{rows}x{columns}xf32>
tlx.kernel @pipeline(%x: !map, %y: !tlx.ptr<f32>) {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %rows_of_tile = arith.constant {rows} : i32
  %outer = arith.constant {outer} : i32
  %inner = arith.constant {inner} : i32
"""

RING = """\
  %buffer{i} = tlx.local_alloc : !tlx.memdesc<[{stages}, {rows}, {columns}], f32>
  %full{i} = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[{stages}]>
  %empty{i} = tlx.alloc_barriers arrivals({readers}) : !tlx.mbarrier<[{stages}]>
"""

# A nest of two loops that counts its iterations in %n.
LOOP = """\
      %end:{results} = scf.for %a = %c0 to %outer step %c1
          iter_args(%n0 = %c0{carry_outer}) -> (i32{types}) : i32 {{
        %in:{results} = scf.for %b = %c0 to %inner step %c1
            iter_args(%n = %n0{carry_inner}) -> (i32{types}) : i32 {{
{body}\
          %n_next = arith.addi %n, %c1 : i32
          scf.yield %n_next{yields} : i32{types}
        }}
        scf.yield %in#0{pass_on} : i32{types}
      }}
"""

SLOT = """\
          %slot{i}, %phase{i} = tlx.ring %n stages({stages}) : i32
          %tile{i} = tlx.local_view %buffer{i}[%slot{i}] : !tlx.memdesc<[{stages}, {rows}, {columns}], f32> -> !tile
"""

ACQUIRE = """\
          tlx.barrier_wait %empty{i}[%slot{i}], %phase{i} producer : !tlx.mbarrier<[{stages}]>
"""

READ = """\
          tlx.barrier_wait %full{i}[%slot{i}], %phase{i} : !tlx.mbarrier<[{stages}]>
          %read{i} = tlx.local_load %tile{i} : !tile -> !values
          tlx.barrier_arrive %empty{i}[%slot{i}] : !tlx.mbarrier<[{stages}]>
"""

LOAD = """\
          tlx.barrier_expect_bytes %full0[%slot0], %tile0 : !tlx.mbarrier<[{stages}]>, !tile
          %row = arith.muli %n, %rows_of_tile : i32
          tlx.async_descriptor_load %x[%row, %c0], %tile0 signal %full0[%slot0] : !map, !tile, !tlx.mbarrier<[{stages}]>
"""

WRITE = """\
          tlx.local_store %more, %tile{i} : !values, !tile
          tlx.barrier_arrive %full{i}[%slot{i}] : !tlx.mbarrier<[{stages}]>
"""


def loop(body, carries=False):
    return LOOP.format(
        body=body,
        results=2 if carries else 1,
        carry_outer=", %acc0 = %zero" if carries else "",
        carry_inner=", %acc = %acc0" if carries else "",
        types=", !values" if carries else "",
        yields=", %sum" if carries else "",
        pass_on=", %in#1" if carries else "")


def make(rng):
    """A kernel, its number of tiles, and its ones added and replicas."""
    outer, inner = rng.randint(0, 3), rng.randint(0, 4)
    passes, replicas = rng.randint(0, 2), rng.randint(1, 3)
    shape = {"rows": ROWS, "columns": COLUMNS}
    stages = [rng.randint(1, 4) for _ in range(passes + 1)]
    text = HEADER.format(outer=outer, inner=inner, **shape)
    for i in range(passes + 1):
        readers = replicas if i == passes else 1
        text += RING.format(i=i, stages=stages[i], readers=readers, **shape)
    text += "  tlx.async_tasks {\n    tlx.async_task @load warps(1) {\n"
    at = {"i": 0, "stages": stages[0], **shape}
    text += loop(SLOT.format(**at) + ACQUIRE.format(**at) + LOAD.format(**at))
    text += "    }\n"
    for i in range(passes):
        source = {"i": i, "stages": stages[i], **shape}
        target = {"i": i + 1, "stages": stages[i + 1], **shape}
        text += f"    tlx.async_task @pass{i} warps(4) {{\n"
        text += "      %one = arith.constant dense<1.0> : !values\n"
        text += loop(
            SLOT.format(**source) + READ.format(**source) +
            f"          %more = arith.addf %read{i}, %one : !values\n" +
            SLOT.format(**target) + ACQUIRE.format(**target) +
            WRITE.format(**target))
        text += "    }\n"
    at = {"i": passes, "stages": stages[passes], **shape}
    text += f"    tlx.async_task @sum warps(4) replicate({replicas}) {{\n"
    text += "      %zero = arith.constant dense<0.0> : !values\n"
    text += loop(
        SLOT.format(**at) + READ.format(**at) +
        f"          %sum = arith.addf %acc, %read{passes} : !values\n",
        carries=True)
    text += f"""\
      %sums = tlx.reduce add %end#1 dim 1 : !values -> tensor<{ROWS}xf32>
      %replica = tlx.async_task_replica_id : i32
      %begin = arith.muli %replica, %rows_of_tile : i32
      %begins = tlx.splat %begin : i32 -> tensor<{ROWS}xi32>
      %rows = tlx.iota dim 0 : tensor<{ROWS}xi32>
      %index = arith.addi %begins, %rows : tensor<{ROWS}xi32>
      tlx.global_store %sums, %y[%index] : tensor<{ROWS}xf32>, !tlx.ptr<f32>, tensor<{ROWS}xi32>
    }}
  }}
}}
"""
    return text, outer * inner, passes, replicas


def expect(tiles, passes):
    """What every replica gives: sums over the tiles' rows, x counting up."""
    sums = []
    for row in range(ROWS):
        firsts = [(t * ROWS + row) * COLUMNS for t in range(tiles)]
        sums.append(sum(COLUMNS * first + COLUMNS * (COLUMNS - 1) // 2 +
                        COLUMNS * passes for first in firsts))
    return sums


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + data[8] + 256 * data[9]
    return list(struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jfa-sim", default="jfa-sim")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kernel = os.path.join(folder, "kernel.mlir")
        output = os.path.join(folder, "y.npy")
        for seed in range(options.seed, options.seed + options.count):
            text, tiles, passes, replicas = make(random.Random(seed))
            with open(kernel, "w", encoding="utf-8") as file:
                file.write(text)
            for schedule in SCHEDULES:
                run = subprocess.run(
                    [options.jfa_sim, kernel, f"--arg=x=iota:{max(1, tiles) * ROWS}x{COLUMNS}",
                     f"--arg=y=none:{replicas * ROWS}", f"--out=y={output}",
                     "--schedule=" + schedule.format(seed=seed)],
                    capture_output=True, text=True, check=False)
                good = run.returncode == 0 and \
                    read_npy(output) == expect(tiles, passes) * replicas
                if not good:
                    print(f"seed {seed}, {schedule}: exit {run.returncode}\n"
                          f"{run.stderr}{text}")
                    return 1
    print(f"{options.count} pipelines under {len(SCHEDULES)} schedules: "
          "no report, and the sequential result")
    return 0


if __name__ == "__main__":
    sys.exit(main())
