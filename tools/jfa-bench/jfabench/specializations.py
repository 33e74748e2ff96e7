# ===- specializations.py - The table of shipped kernels ----- -*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Reads and edits tables such as lib/Kernels/attention/sm90/specializations.txt,
whose head says what they mean: names of parameters, then a line of values for each
kernel, in which `a,b` stands for one kernel for each."""

import itertools
from dataclasses import dataclass

# These say what is computed and for which batches, all others how.
PROBLEM = ("HEAD_DIM", "CAUSAL", "JAGGED", "BROADCAST_QUERY", "ELEMENT",
           "DETERMINISTIC", "MIN_QUERIES", "MAX_QUERIES", "MAX_KEYS")
# Of these the first stands for all: the others take as long, or follow.
ALIKE = ("ELEMENT", "DETERMINISTIC")


class TableError(ValueError):
    pass


@dataclass
class Row:
    """A line of a table: its place in the file and the values as written."""

    line: int
    values: dict

    @property
    def problem(self):
        return {n: v for n, v in self.values.items() if n in PROBLEM}

    @property
    def tunables(self):
        return {n: v for n, v in self.values.items() if n not in PROBLEM}

    def serves(self, problem):
        """Whether one of the row's kernels is for a problem: names and values, of
        which any may be left out."""
        return all(value in self.values[name].split(",")
                   for name, value in problem.items() if name in self.values)

    def first_problem(self):
        """The problem with the first of several types and modes, which stands for
        all."""
        return {n: v.split(",")[0] if n in ALIKE else v
                for n, v in self.problem.items()}

    @property
    def name(self):
        return " ".join(f"{n}={v}" for n, v in self.problem.items())


def is_content(line):
    return bool(line.strip()) and not line.strip().startswith("#")


def read_rows(text, source):
    """The names of the columns and the rows of a table."""
    names, rows = [], []
    for number, line in enumerate(text.splitlines()):
        if not is_content(line):
            continue
        words = line.split()
        if not names:
            names = words
            if len(set(names)) != len(names):
                raise TableError(f"{source}:{number + 1}: expected each "
                                 f"parameter once, but got {line.strip()}")
            continue
        if len(words) != len(names):
            raise TableError(f"{source}:{number + 1}: expected {len(names)} "
                             f"values, but got {len(words)}")
        rows.append(Row(number, dict(zip(names, words))))
    if not names:
        raise TableError(f"{source}: expected a line that names parameters, but "
                         "got none")
    return names, rows


def expand(values):
    """One dictionary for each combination of the values' alternatives."""
    names = list(values)
    choices = [values[name].split(",") for name in names]
    return [dict(zip(names, choice)) for choice in itertools.product(*choices)]


def write_rows(text, changes):
    """The text of a table with new values in some lines: a dictionary by line
    number. Columns stay where they are, and so does everything else."""
    lines = text.splitlines(keepends=True)
    names = next(l for l in lines if is_content(l)).split()
    for number, values in changes.items():
        line = lines[number]
        fields, at = [], 0
        for word in line.split():
            start = line.index(word, at)
            fields.append(start)
            at = start + len(word)
        result = ""
        for name, start in zip(names, fields):
            # At least one blank stays between two values.
            result = result.ljust(start)
            result += " " if result and not result.endswith(" ") else ""
            result += values[name]
        lines[number] = result + "\n"
    return "".join(lines)
