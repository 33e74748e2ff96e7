# ===- strict.py - The shipped kernels in strict mode -------*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Executes the PTX of every kernel that is shipped for Blackwell in strict mode, in which
products into different sums have no order.

    strict.py KERNELS FOLDER [FILTER]

One thing that strict mode reports is relied on (docs/Rationale.md), and nothing but that
may be found, where a kernel has it: where P lies over S (tensor memory has no room for it
at HEAD_DIM 128), S follows the product that reads P in one queue, as in the backward S, dP
and dQ follow those that read P and dS.
"""

import itertools
import os
import re
import subprocess
import sys

LISTS = ("attention/sm100/specializations.txt",
         "attention/sm100/bwd.specializations.txt",
         "attention/sm100/bwd_query.specializations.txt",
         "block_attention/sm100/specializations.txt",
         "block_attention/sm100/bwd.specializations.txt")
# Kernels that are not shipped, and what they are bound to.
UNLISTED = (("attention/sm100/bwd_pair.mlir", {}),
            ("attention/sm100/bwd_pair.mlir", {"CAUSAL": "true"}))
QUEUE = ("buffer overwritten while it is read: an operation of warp N writes lanes "
         "N to N of columns N to N of tensor memory, but nothing orders that after "
         "the other access")


def read_rows(path):
    """The bindings of each row of a list; of several element types, the first."""
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file
                 if line.strip() and not line.startswith("#")]
    for row in lines[1:]:
        values = [[each.split(",")[0]] if name == "ELEMENT" else each.split(",")
                  for name, each in zip(lines[0], row)]
        for chosen in itertools.product(*values):
            yield dict(zip(lines[0], chosen))


def get_problem(name, bindings):
    # CTAs run one after the other, so that one takes all turns.
    if bindings.get("DETERMINISTIC") == "true" and "bwd_query" not in name:
        return [*get_lengths(name, bindings), "--grid=1"]
    return get_lengths(name, bindings)


def get_lengths(name, bindings):
    if "bwd_query" in name:
        return ["--lengths=200,0,77", "--q-len=100", "--broadcast-q", "--grid=1"]
    if bindings.get("BROADCAST_QUERY") == "true":
        return ["--lengths=200,0,77", "--q-len=130", "--broadcast-q"]
    if bindings.get("JAGGED") == "false":
        return ["--lengths=200,200"]
    return ["--lengths=0,1,77,300"]


def find_reports(name, source, bindings, folder):
    """What strict mode finds, each kind once, without its numbers."""
    command = ["jfa-opt", source, "--arch=sm_100a"]
    command += [word for name, value in bindings.items()
                for word in ("-D", f"{name}={value}")]
    base = os.path.join(folder, "kernel")
    for stage in ("ptx", "cubin"):
        subprocess.run([*command, f"--emit={stage}", "-o", f"{base}.{stage}"],
                       check=True)
    run = subprocess.run(["jfa-emu", f"{base}.ptx", f"--manifest={base}.json",
                          "--fences=strict", *get_problem(name, bindings)], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    errors = {re.sub(r"\d+", "N", line.split(" error: ")[1])
              for line in run.stdout.splitlines() if " error: " in line}
    if not errors and (run.returncode or "no violation" not in run.stdout):
        sys.exit(f"expected a run without a report, but got\n{run.stdout}")
    return errors


def get_kernels(kernels, wanted):
    """Each kernel's name, source and bindings."""
    for name in LISTS:
        if wanted not in name:
            continue
        path = os.path.join(kernels, name)
        source = path.replace(".specializations.txt", ".mlir") if "bwd" in name else \
            os.path.join(os.path.dirname(path), "fwd.mlir")
        for bindings in read_rows(path):
            yield name, source, bindings
    for name, bindings in UNLISTED:
        if wanted in name:
            yield name, os.path.join(kernels, name), bindings


def main():
    kernels, folder = sys.argv[1:3]
    wanted = sys.argv[3] if len(sys.argv) > 3 else ""
    os.makedirs(folder, exist_ok=True)
    clean = relying = 0
    for name, source, bindings in get_kernels(kernels, wanted):
        overlaps = int(bindings.get("P_AT", 0)) and \
            int(bindings["P_AT"]) < int(bindings["BLOCK_N"])
        is_backward = name.startswith("attention/sm100/bwd")
        allowed = {QUEUE} if overlaps or is_backward else set()
        errors = find_reports(name, source, bindings, folder)
        if errors - allowed:
            sys.exit(f"expected no report of {name} {bindings}, but got "
                     f"{sorted(errors - allowed)}")
        clean += not errors
        relying += bool(errors)
    print(f"{clean} kernels without a report, {relying} with what is relied on")


main()
