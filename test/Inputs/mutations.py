# ===- mutations.py - Texts that differ in one line ---------*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Mutations of a text: functions of its lines that yield, for every line that matches
a pattern, the line's index and the lines of the mutant."""

import re


def replace(pattern, by):
    """Replaces what matches, where that makes a difference."""

    def mutate(lines):
        for i, line in enumerate(lines):
            if re.search(pattern, line):
                new = re.sub(pattern, by, line, count=1)
                if new != line:
                    yield i, lines[:i] + [new] + lines[i + 1:]

    return mutate


def drop(pattern):
    return lambda lines: (
        (i, lines[:i] + lines[i + 1:]) for i, line in enumerate(lines)
        if re.search(pattern, line))


def double(pattern):
    return lambda lines: (
        (i, lines[:i] + [line, line] + lines[i + 1:])
        for i, line in enumerate(lines) if re.search(pattern, line))
