# ===- tune.py - Which tunables are best ------------- -*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Chooses tunables from timings, and says what would change in the table.

A timing is a dictionary of shapes, each with the milliseconds of every round for each
variant by name; rounds of one shape were taken in turns, so round by round two
variants compare."""

import difflib
import math
import statistics
from dataclasses import dataclass, field

from .specializations import TableError, write_rows
from .timing import gains, spread

# A smaller gain is not worth a change.
LEAST_GAIN = 0.005


@dataclass
class Score:
    """A variant's gain over the shipped one, the geometric mean over shapes."""

    name: str
    gain: float
    spread: float
    shapes: dict = field(default_factory=dict)

    @property
    def proposed(self):
        return self.gain - 1 > max(self.spread, LEAST_GAIN)


def score(name, current, timings):
    """The score of a variant that was timed on every shape."""
    per_shape = {shape: gains(times[current], times[name])
                 for shape, times in timings.items()}
    rounds = zip(*per_shape.values())
    means = [math.exp(statistics.fmean(math.log(g) for g in r)) for r in rounds]
    return Score(name, statistics.median(means), spread(means),
                 {s: statistics.median(g) for s, g in per_shape.items()})


def choose(variants, timings):
    """The scores of the variants that ran, best first, and the one to change to or
    None. The first variant is the shipped one."""
    current = variants[0].name
    ran = [v.name for v in variants[1:] if not v.refusal
           and all(v.name in times for times in timings.values())]
    scores = sorted((score(name, current, timings) for name in ran),
                    key=lambda s: -s.gain) if timings else []
    best = next((s for s in scores if s.proposed), None)
    return scores, best


def report(each, timings, print_line):
    """Prints what was found for a set; returns the variant to change to or None."""
    print_line(" ".join(f"{n}={v}" for n, v in each.problem.items()))
    shipped = each.variants[0]
    if shipped.refusal:
        print_line(f"  unchanged: what is shipped was refused: {shipped.refusal}")
        return None
    if not timings:
        print_line("  unchanged: no shape measures it")
        return None
    scores, best = choose(each.variants, timings)
    for s in scores:
        mark = "*" if s is best else " "
        shapes = ", ".join(f"{g:.3f}" for g in s.shapes.values())
        print_line(f" {mark}{s.gain:7.3f} +- {s.spread:.3f}  {s.name}  ({shapes})")
    for variant in each.variants:
        if variant.refusal:
            print_line(f"  refused  {variant.name}: {variant.refusal}")
    return next((v for v in each.variants if best and v.name == best.name), None)


def check_shipped(sets, rows):
    """Refuses variants that were compiled for another table."""
    by_line = {row.line: row for row in rows}
    for each in sets:
        row = by_line.get(each.line)
        if row and (row.first_problem() != each.problem
                    or row.tunables != each.variants[0].tunables):
            raise TableError(
                f"expected the variants to be those of line {each.line + 1} of "
                f"the specialisations, {row.name}, but got ones for other values: "
                "compile them again")


def changed_text(text, rows, chosen):
    """The table with the chosen variants: a dictionary of variants by line."""
    by_line = {row.line: row for row in rows}
    return write_rows(text, {
        line: {**by_line[line].values, **variant.tunables}
        for line, variant in chosen.items()})


def diff(before, after, name):
    return "".join(difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True),
        name, name + " (proposed)", n=1))
