#!/usr/bin/env python3
# ===- check_faults.py - Are the pairs of Faults whole? -*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Checks that each pair of test/Sim/Faults has a twin that passes and one of which the
finding and a note are checked, and is in the table of docs/Simulator.md; that this table
names no other; that every kind of finding has a pair; and that whatever the simulator
says of the pairs, every finding has a note at another place than its own.

    check_faults.py FAULTS SIMULATOR.md JFA-SIM
"""

import os
import re
import shlex
import subprocess
import sys

ENDS = r"\| *FileCheck"
PLACE = re.compile(r"^(\S+:\d+:\d+): (error|note): (.*)", re.M)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def get_section(text, title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.M | re.S)[1]


def get_kinds(text):
    """The kinds of findings by the table of what it finds."""
    rows = re.findall(r"^\| ([a-z ,]+) \| ", get_section(text, "What it finds"), re.M)
    return [kind for row in rows if row != "finding" for kind in row.split(", ")]


def find_gaps(name, text):
    """What a pair lacks."""
    runs = re.findall(r"^// RUN: (.*)", text, re.M)
    fails = [run for run in runs if re.match(r"(%exits|not) ", run)]
    if len(fails) == len(runs):
        yield f"{name}: expected a twin that passes, but got none"
    if not fails or not all(re.search(ENDS, run) for run in fails):
        yield f"{name}: expected a run of which the finding is checked, but got none"
    for what in ("error", "note"):
        if not re.search(rf"^// [A-Z-]+: .*{what}: \S", text, re.M):
            yield f"{name}: expected a check of its {what}, but got none"


def run_fails(path, text, jfa_sim):
    """What the simulator says of the twin that is wrong."""
    for run in re.findall(r"^// RUN: %exits 2 (jfa-sim .*?) 2>&1", text, re.M):
        words = shlex.split(run.replace("%S", os.path.dirname(path))
                            .replace("%s", path))
        yield subprocess.run([jfa_sim] + words[1:], capture_output=True, text=True,
                             timeout=120, check=False).stderr


def find_lonely(name, report):
    """Findings without a note at another place, or of the same op another time."""
    place, message, others, is_again = None, "", set(), False
    for at, what, text in PLACE.findall(report) + [("", "error", "")]:
        if what == "note":
            others.add(at)
            is_again |= at == place and \
                re.search(r"(reads|writes|adds to) it here$", text) is not None
            continue
        if place and not others - {place} and not is_again and \
                not message.startswith("no end: "):
            yield f"{name}: expected a note at another place, but got none: {message}"
        place, message, others, is_again = at, text, set(), False


def main():
    folder, docs, jfa_sim = sys.argv[1:]
    manual = read(docs)
    named = set(re.findall(r"`([a-z0-9-]+)`",
                           get_section(manual, "Faults").split("\nRows without")[0]))
    pairs = {file.removesuffix(".mlir"): os.path.join(folder, file)
             for file in sorted(os.listdir(folder)) if file.endswith(".mlir")}
    wrong = [f"{name}: expected it in the table of {docs}" for name in pairs
             if name not in named]
    wrong += [f"{docs}: expected pairs of {folder}, but got {name}"
              for name in sorted(named) if name not in pairs]
    checked = ""
    for name, path in pairs.items():
        text = read(path)
        checked += "\n".join(re.findall(r"^// [A-Z-]+: .*", text, re.M)) + "\n"
        wrong += find_gaps(name, text)
        for report in run_fails(path, text, jfa_sim):
            wrong += find_lonely(name, report)
    kinds = get_kinds(manual)
    wrong += [f"expected a pair with the finding '{kind}', but got none"
              for kind in kinds if f"error: {kind}: " not in checked]
    print("\n".join(wrong))
    print(f"{len(pairs)} pairs, {len(kinds)} kinds of findings, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
