#!/usr/bin/env python3
# ===- generate.py - Random pipelines for the simulator -----*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Makes random well-formed pipelines and runs them in jfa-sim.

Producers load tiles, each into a ring of its own. Chains of tasks pass the tiles
on through more rings, adding one each. Consumers, tasks of one or more replicas,
take a tile of every chain in every iteration and add these up; then they sum
over all iterations, or copy each to global memory through a staging buffer.
Tasks may meet at a named barrier in each iteration, and two replicas may take
turns. All of it is in a nest of up to three loops.

Every pipeline has to run without a report, under every schedule, and to give
what the same loops give one after the other. Small ones run in every order.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time

ROWS, COLUMNS = 8, 32
SCHEDULES = ["eager", "late", "random:{seed}", "pct:3:{seed}"]


@dataclasses.dataclass
class Consumer:
    replicas: int
    warps: int
    copies: bool  # to global memory, rather than sums
    takes_turns: bool
    first: int  # of the places of its replicas in the results


@dataclasses.dataclass
class Plan:
    extents: list  # of the loops, the outermost first
    chains: list  # the stages of each chain's rings, the loaded one first
    one_loader: bool  # for all chains
    pass_warps: list  # of each chain's passes
    consumers: list
    meets: bool  # at a named barrier: all passes and consumers

    @property
    def tiles(self):
        product = 1
        for extent in self.extents:
            product *= extent
        return product

    @property
    def readers(self):
        return sum(consumer.replicas for consumer in self.consumers)

    @property
    def passes(self):
        return sum(len(chain) - 1 for chain in self.chains)

    @property
    def threads(self):
        """Those that meet."""
        return 32 * (sum(map(sum, self.pass_warps)) +
                     sum(c.warps * c.replicas for c in self.consumers))


def plan(rng):
    if rng.random() < 0.2:  # few enough orders to run all of them
        extents = rng.choice([[0], [1], [1], [2], [1, 1], [1, 2]])
        stages = rng.randint(1, 2)
        return Plan(extents, [[stages]], True, [[]],
                    [Consumer(1, 1, False, False, 0)], False), True
    while True:
        extents = [rng.randint(0 if rng.random() < 0.2 else 1, 4)
                   for _ in range(rng.randint(1, 3))]
        chains = [[rng.randint(1, 4) for _ in range(rng.randint(1, 3))]
                  for _ in range(rng.randint(1, 3))]
        pass_warps = [[rng.choice([1, 2, 4]) for _ in chain[1:]]
                      for chain in chains]
        consumers = []
        for _ in range(rng.randint(1, 2)):
            replicas = rng.randint(1, 3)
            consumers.append(
                Consumer(replicas, rng.choice([1, 2, 4]), rng.random() < 0.5,
                         replicas == 2 and rng.random() < 0.5,
                         sum(c.replicas for c in consumers)))
        result = Plan(extents, chains, rng.random() < 0.5, pass_warps,
                      consumers, rng.random() < 0.4)
        # Barriers 1 to 5 are the pipeline's; the compiler takes one for each
        # replica of several warps. A task may be padded to 128 threads.
        if result.tiles <= 16 and result.passes + result.readers <= 7:
            return result, False


class Kernel:
    """The text of a plan's kernel."""

    def __init__(self, the_plan):
        self.plan = the_plan
        self.lines = []

    def add(self, indent, *lines):
        self.lines += ["  " * indent + line for line in lines]

    def make(self):
        self.header()
        self.add(1, "tlx.async_tasks {")
        loaders = [range(len(self.plan.chains))] if self.plan.one_loader else \
            [[i] for i in range(len(self.plan.chains))]
        for i, chains in enumerate(loaders):
            self.task(f"load{i}", 1, 1, lambda at, n, chains=chains:
                      self.load(at, n, chains))
        for i, chain in enumerate(self.plan.chains):
            for k in range(len(chain) - 1):
                self.task(f"pass{i}_{k}", self.plan.pass_warps[i][k], 1,
                          lambda at, n, i=i, k=k: self.forward(at, n, i, k))
        for i, consumer in enumerate(self.plan.consumers):
            self.consume(i, consumer)
        self.add(1, "}")
        self.add(0, "}")
        return "\n".join(self.lines) + "\n"

    def header(self):
        self.add(0, f"!map = !tlx.tensormap<[{ROWS}, {COLUMNS}], f32>",
                 f"!tile = !tlx.memdesc<[{ROWS}, {COLUMNS}], f32>",
                 f"!values = tensor<{ROWS}x{COLUMNS}xf32>",
                 f"!sums = tensor<{ROWS}xf32>", f"!rows = tensor<{ROWS}xi32>",
                 "tlx.kernel @pipeline(%x: !map, %y: !tlx.ptr<f32>, %o: !map) {")
        for number in [0, 1, 2, 3, ROWS, self.plan.tiles]:
            self.add(1, f"%c{number} = arith.constant {number} : i32")
        for depth, extent in enumerate(self.plan.extents):
            self.add(1, f"%extent{depth} = arith.constant {extent} : i32")
        for i, chain in enumerate(self.plan.chains):
            for k, stages in enumerate(chain):
                readers = self.plan.readers if k + 1 == len(chain) else 1
                bars = f"!tlx.mbarrier<[{stages}]>"
                self.add(
                    1, f"%buffer{i}_{k} = tlx.local_alloc : "
                    f"!tlx.memdesc<[{stages}, {ROWS}, {COLUMNS}], f32>",
                    f"%full{i}_{k} = tlx.alloc_barriers arrivals(1) : {bars}",
                    f"%empty{i}_{k} = tlx.alloc_barriers arrivals({readers})"
                    f" : {bars}")
        for i, consumer in enumerate(self.plan.consumers):
            if consumer.copies:
                self.add(1, f"%staging{i} = tlx.local_alloc : !tlx.memdesc<["
                         f"{consumer.replicas}, {ROWS}, {COLUMNS}], f32>")

    def task(self, name, warps, replicas, body, before=(), after=(),
             carries=False):
        replicate = f" replicate({replicas})" if replicas > 1 else ""
        self.add(2, f"tlx.async_task @{name} warps({warps}){replicate} {{")
        self.add(3, "%one = arith.constant dense<1.0> : !values",
                 "%zero = arith.constant dense<0.0> : !values", *before)
        self.nest(0, "%c0", "%zero" if carries else None, body)
        self.add(3, *after)
        self.add(2, "}")

    def nest(self, depth, n, total, body):
        """Loops that count their iterations and may carry a total."""
        at = 3 + depth
        if depth == len(self.plan.extents):
            new_total = body(at, n)
            self.add(at, f"%next = arith.addi {n}, %c1 : i32")
            if total:
                self.add(at, f"%more = arith.addf {total}, {new_total} : !values")
            return "%next", "%more" if total else None
        carried = f", %total{depth} = {total}" if total else ""
        types = "i32, !values" if total else "i32"
        self.add(
            at, f"%end{depth}:{2 if total else 1} = scf.for %i{depth} = %c0 to "
            f"%extent{depth} step %c1 iter_args(%n{depth} = {n}{carried})"
            f" -> ({types}) : i32 {{")
        inner = self.nest(depth + 1, f"%n{depth}",
                          f"%total{depth}" if total else None, body)
        values = ", ".join(value for value in inner if value)
        self.add(at + 1, f"scf.yield {values} : {types}")
        self.add(at, "}")
        return f"%end{depth}#0", f"%end{depth}#1" if total else None

    def slot(self, at, n, i, k):
        stages = self.plan.chains[i][k]
        name = f"{i}_{k}"
        self.add(
            at, f"%slot{name}, %phase{name} = tlx.ring {n} stages({stages}) : i32",
            f"%tile{name} = tlx.local_view %buffer{name}[%slot{name}] : "
            f"!tlx.memdesc<[{stages}, {ROWS}, {COLUMNS}], f32> -> !tile")
        return name, f"!tlx.mbarrier<[{stages}]>"

    def acquire(self, at, n, i, k):
        name, bars = self.slot(at, n, i, k)
        self.add(at, f"tlx.barrier_wait %empty{name}[%slot{name}], "
                 f"%phase{name} producer : {bars}")
        return name, bars

    def read(self, at, n, i, k):
        name, bars = self.slot(at, n, i, k)
        self.add(
            at, f"tlx.barrier_wait %full{name}[%slot{name}], %phase{name} : {bars}",
            f"%read{name} = tlx.local_load %tile{name} : !tile -> !values",
            f"tlx.barrier_arrive %empty{name}[%slot{name}] : {bars}")
        return f"%read{name}"

    def meet(self, at):
        if self.plan.meets:
            self.add(at, f"tlx.named_barrier_wait %c1 threads({self.plan.threads})")

    def load(self, at, n, chains):
        self.add(at, f"%row = arith.muli {n}, %c{ROWS} : i32")
        for i in chains:
            name, bars = self.acquire(at, n, i, 0)
            self.add(
                at, f"tlx.barrier_expect_bytes %full{name}[%slot{name}], "
                f"%tile{name} : {bars}, !tile",
                f"tlx.async_descriptor_load %x[%row, %c0], %tile{name} signal "
                f"%full{name}[%slot{name}] : !map, !tile, {bars}")

    def forward(self, at, n, i, k):
        value = self.read(at, n, i, k)
        self.add(at, f"%passed = arith.addf {value}, %one : !values")
        name, bars = self.acquire(at, n, i, k + 1)
        self.add(at, f"tlx.local_store %passed, %tile{name} : !values, !tile",
                 f"tlx.barrier_arrive %full{name}[%slot{name}] : {bars}")
        self.meet(at)

    def consume(self, number, consumer):
        replicas, tiles = consumer.replicas, self.plan.tiles
        place = [
            "%replica = tlx.async_task_replica_id : i32",
            f"%first = arith.constant {consumer.first} : i32",
            "%place = arith.addi %first, %replica : i32"
        ]
        turns = f"threads({64 * consumer.warps})"
        ids = f"%turn{number}"
        before, after = list(place), []
        if consumer.takes_turns:
            # Replica r waits for barrier 2 + 2 * number + r. The other one lets
            # it go on, and the first turn is given away before the loops.
            before += [
                f"%base = arith.constant {2 + 2 * number} : i32",
                f"{ids} = arith.addi %base, %replica : i32",
                "%other = arith.subi %c1, %replica : i32",
                "%others = arith.addi %base, %other : i32",
                "%is_second = arith.cmpi eq, %replica, %c1 : i32",
                "scf.if %is_second {",
                f"  tlx.named_barrier_arrive %others {turns}", "}"
            ]
            after += [
                "%is_first = arith.cmpi eq, %replica, %c0 : i32",
                "scf.if %is_first {", f"  tlx.named_barrier_wait {ids} {turns}",
                "}"
            ]
        if consumer.copies:
            staging = f"!tlx.memdesc<[{replicas}, {ROWS}, {COLUMNS}], f32>"
            before += [
                f"%stage = tlx.local_view %staging{number}[%replica] : "
                f"{staging} -> !tile",
                f"%first_tile = arith.muli %place, %c{tiles} : i32"
            ]
            after.append("tlx.async_descriptor_store_wait pending(0)")
        else:
            after += [
                "%sums = tlx.reduce add %end0#1 dim 1 : !values -> !sums",
                f"%begin = arith.muli %place, %c{ROWS} : i32",
                "%begins = tlx.splat %begin : i32 -> !rows",
                "%rows = tlx.iota dim 0 : !rows",
                "%index = arith.addi %begins, %rows : !rows",
                "tlx.global_store %sums, %y[%index] : !sums, !tlx.ptr<f32>, !rows"
            ]

        def body(at, n):
            if consumer.takes_turns:
                self.add(at, f"tlx.named_barrier_wait {ids} {turns}")
            total = None
            for i, chain in enumerate(self.plan.chains):
                value = self.read(at, n, i, len(chain) - 1)
                if total:
                    self.add(at, f"%joined{i} = arith.addf {total}, {value} : "
                             "!values")
                    value = f"%joined{i}"
                total = value
            if consumer.takes_turns:
                self.add(at, f"tlx.named_barrier_arrive %others {turns}")
            if consumer.copies:
                self.add(
                    at, "tlx.async_descriptor_store_wait pending(0)",
                    f"tlx.local_store {total}, %stage : !values, !tile",
                    f"%to_tile = arith.addi %first_tile, {n} : i32",
                    f"%to_row = arith.muli %to_tile, %c{ROWS} : i32",
                    "tlx.async_descriptor_store %o[%to_row, %c0], %stage : "
                    "!map, !tile")
            self.meet(at)
            return total

        self.task(f"take{number}", consumer.warps, replicas, body, before,
                  after, carries=not consumer.copies)


def header_constants(text):
    """One definition of each constant, where extents coincide."""
    seen, lines = set(), []
    for line in text.split("\n"):
        match = re.match(r"  (%c\d+) = arith\.constant", line)
        if match and match[1] in seen:
            continue
        if match:
            seen.add(match[1])
        lines.append(line)
    return "\n".join(lines)


def joined(the_plan, tile, row, column):
    """What a consumer makes of element (row, column) of a tile of iota."""
    value = (tile * ROWS + row) * COLUMNS + column
    return value * len(the_plan.chains) + the_plan.passes


def expect(the_plan):
    """The results by place: of `y`, and of `o`."""
    sums, copies = {}, {}
    tiles = range(the_plan.tiles)
    for consumer in the_plan.consumers:
        for place in range(consumer.first, consumer.first + consumer.replicas):
            for row in range(ROWS):
                if consumer.copies:
                    for tile in tiles:
                        at = ((place * the_plan.tiles + tile) * ROWS + row)
                        for column in range(COLUMNS):
                            copies[at * COLUMNS + column] = joined(
                                the_plan, tile, row, column)
                else:
                    sums[place * ROWS + row] = sum(
                        joined(the_plan, tile, row, column)
                        for tile in tiles for column in range(COLUMNS))
    return sums, copies


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + data[8] + 256 * data[9]
    return struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])


def holds(path, expected):
    found = read_npy(path)
    return all(found[at] == value for at, value in expected.items())


def check(jfa_sim, folder, seed):
    """Returns the schedules that were run and what was wrong, or nothing."""
    the_plan, is_small = plan(random.Random(seed))
    text = header_constants(Kernel(the_plan).make())
    path = os.path.join(folder, f"{seed}.mlir")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    y, o = os.path.join(folder, f"{seed}y.npy"), os.path.join(folder, f"{seed}o.npy")
    sums, copies = expect(the_plan)
    rows = max(1, the_plan.tiles) * ROWS
    schedules = SCHEDULES + (["all"] if is_small else [])
    for schedule in schedules:
        run = subprocess.run(
            [jfa_sim, path, f"--arg=x=iota:{rows}x{COLUMNS}",
             f"--arg=y=none:{the_plan.readers * ROWS}",
             f"--arg=o=none:{the_plan.readers * rows}x{COLUMNS}",
             f"--out=y={y}", f"--out=o={o}",
             "--schedule=" + schedule.format(seed=seed)],
            capture_output=True, text=True, check=False)
        every = schedule != "all" or re.search(r"all \d+ orders", run.stdout)
        if run.returncode != 0 or not every or not holds(y, sums) or \
                not holds(o, copies):
            return schedules, (f"seed {seed}, {schedule}: exit "
                               f"{run.returncode}\n{run.stdout}{run.stderr}{text}")
    return schedules, ""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--jfa-sim", default="jfa-sim")
    parser.add_argument("--print", action="store_true",
                        help="print the first pipeline and stop")
    options = parser.parse_args()
    if options.print:
        print(header_constants(Kernel(plan(random.Random(options.seed))[0]).make()))
        return 0
    begin, all_orders = time.monotonic(), 0
    seeds = range(options.seed, options.seed + options.count)
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for schedules, wrong in pool.map(
                lambda seed: check(options.jfa_sim, folder, seed), seeds):
            if wrong:
                print(wrong)
                pool.shutdown(cancel_futures=True)
                return 1
            all_orders += "all" in schedules
    print(f"{options.count} pipelines under {len(SCHEDULES)} schedules, "
          f"{all_orders} of them in every order: no report, and the "
          "sequential result")
    print(f"{time.monotonic() - begin:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
