#!/usr/bin/env python3
# ===- mutate.py - Does the simulator notice broken kernels? -*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Breaks a kernel's protocol in one place at a time and prints a kill matrix.

A mutant is killed if jfa-sim reports a violation, computes wrong values, or if
the dialect refuses it. It is equivalent if binding its parameters gives the same
kernel as binding those of the original. Survivors are listed with their line, and
make the exit code 1.
"""

import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)),
                                "..", "Inputs"))
from mutations import double, drop, replace


def swap(pattern):
    """Exchanges lines that match with the next one that does in their block."""

    def mutate(lines):
        found = [i for i, line in enumerate(lines) if re.search(pattern, line)]
        for i, j in zip(found, found[1:]):
            between = lines[i + 1:j]
            same = re.match(" *", lines[i])[0] == re.match(" *", lines[j])[0]
            if same and not any("{" in line or "}" in line
                                for line in between):
                new = list(lines)
                new[i], new[j] = new[j], new[i]
                yield i, new

    return mutate


def advance(pattern, before):
    """Moves a line to just before the nearest earlier one that uses a buffer."""

    def mutate(lines):
        for i, line in enumerate(lines):
            if not re.search(pattern, line):
                continue
            for j in range(i - 1, -1, -1):
                if re.search(before, lines[j]):
                    new = lines[:i] + lines[i + 1:]
                    yield i, new[:j] + [line] + new[j:]
                    break

    return mutate


def drop_pair(first, second):
    """Drops two lines that follow each other."""

    def mutate(lines):
        for i, (line, after) in enumerate(zip(lines, lines[1:])):
            if re.search(first, line) and re.search(second, after):
                yield i, lines[:i] + lines[i + 2:]

    return mutate


def alias(lines):
    """Lets every buffer share the bytes of the first."""
    allocs = [(i, re.match(r" *(%\w+) = tlx.local_alloc : (.*)", line))
              for i, line in enumerate(lines)]
    allocs = [(i, match) for i, match in allocs if match]
    for i, match in allocs[1:]:
        first = allocs[0][1]
        new = list(lines)
        new[i] = (f"  {match[1]} = tlx.local_alloc alias({first[1]}) : "
                  f"{match[2]}, {first[2]}")
        yield i, new


ARRIVE = r"^ *tlx\.(remote_)?barrier_arrive"
WAIT = r"^ *tlx\.barrier_wait"
OPERATORS = {
    "drop an arrive": drop(ARRIVE),
    "double an arrive": double(ARRIVE),
    "drop a wait": drop(WAIT),
    "flip a parity": replace(r"(tlx\.barrier_wait .*), (%\w+)( producer)? :",
                             lambda m: f"{m[1]}, {m[2]}" +
                             ("" if m[3] else " producer") + " :"),
    "raise a count": replace(r"arrivals\((.*)\)", r"arrivals(\1 + 1)"),
    "lower a count": replace(r"arrivals\((.*floordiv.*)\)",
                             r"arrivals(\1 - 1)"),
    "expect other bytes": replace(
        r"(tlx\.barrier_expect_bytes [^,]*), %\w+ : ([^,]*),.*",
        r"\1 bytes(1024) : \2"),
    "change a stage count": replace(r"stages\((\w+)\)", r"stages(\1 + 1)"),
    "swap two waits": swap(WAIT),
    "release before the last use": advance(ARRIVE, r"tlx\.async_dot_wait"),
    "drop a store wait": drop(r"^ *tlx\.async_descriptor_store_wait"),
    "drop a named arrive": drop(r"^ *tlx\.named_barrier_arrive"),
    "drop a named wait": drop(r"^ *tlx\.named_barrier_wait"),
    "wait for one dot less": replace(
        r"(tlx\.async_dot_wait .*)pending\(0\)", r"\1pending(1)"),
    "alias live buffers": alias,
    "drop a cluster arrive": drop(r"^ *tlx\.cluster_arrive"),
    "drop a cluster wait": drop(r"^ *tlx\.cluster_wait"),
    "leave out a meeting": drop_pair(r"^ *tlx\.cluster_arrive",
                                     r"^ *tlx\.cluster_wait"),
    "tell one CTA only": replace(r"(remote_barrier_arrive .*) mask\(%all\)",
                                 r"\1 mask(%c1)"),
    "copy to one CTA only": replace(r"multicast\(%all\)", "multicast(%c1)"),
}


# Problems for the attention kernels: the parameters, the masks and the modes that
# are shipped, and a ring of one stage.
PRESETS = {
    "D64": "-D HEAD_DIM=64 --lengths=0,1,77,300,700 --heads=1 --grid=1",
    "D64 causal": "-D HEAD_DIM=64 --causal --lengths=0,1,77,300,700 --heads=1 "
                  "--grid=1",
    "D64, 192 rows": "-D HEAD_DIM=64 -D BLOCK_M=192 -D LOAD_REGISTERS=32 "
                     "-D SOFTMAX_REGISTERS=160 --lengths=0,1,77,300,700 "
                     "--heads=1 --grid=1",
    "D128": "-D HEAD_DIM=128 --lengths=0,1,300,700 --heads=1 --grid=1",
    "D128, clusters": "-D HEAD_DIM=128 -D CLUSTER=2 --lengths=0,1,300,700 "
                      "--heads=1 --grid=2",
    "D128 causal, clusters": "-D HEAD_DIM=128 -D CLUSTER=2 --causal "
                             "--lengths=0,1,300,700 --heads=1 --grid=2",
    "D64 broadcast query": "-D HEAD_DIM=64 --lengths=0,1,77,300,700 --heads=1 "
                           "--q-len=130 --broadcast-q --grid=1",
    "D64 without PINGPONG": "-D HEAD_DIM=64 -D PINGPONG=false "
                            "--lengths=0,1,77,300,700 --heads=1 --grid=1",
    "D64, one stage": "-D HEAD_DIM=64 -D STAGES=1 --lengths=0,1,77,300,700 "
                      "--heads=1 --grid=1",
}
VERDICTS = {0: "", 1: "wrong values", 2: "violation", 3: "refused"}
# Of a mutant that is the same kernel once its parameters are bound: what is
# changed was in a branch that is not taken.
EQUIVALENT = "equivalent"
RUNS = [["--order"], ["--order", "--schedule=late"],
        ["--order", "--schedule=random:1"], ["--order", "--schedule=pct:3"],
        ["--verify"], []]


def run(options, path, arguments):
    command = [options.jfa_sim, path] + arguments
    try:
        result = subprocess.run(command, capture_output=True, text=True,
                                timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return "time out"
    match = re.search(r"error: ([\w ]+):", result.stderr)
    verdict = VERDICTS.get(result.returncode, "crash")
    return match[1] if match and result.returncode == 2 else verdict


def keep_bindings(arguments):
    """For --verify, which makes its own launches."""
    kept = [argument for i, argument in enumerate(arguments)
            if "-D" in (argument, arguments[i - 1])]
    for flag, binding in (("--causal", "CAUSAL"),
                          ("--broadcast-q", "BROADCAST_QUERY")):
        if flag in arguments:
            kept += ["-D", f"{binding}=true"]
    return kept


def specialize(options, lines, path, arguments):
    """The kernel that is left once its parameters are bound, without buffers and
    barriers that nothing uses."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    text = subprocess.run(
        [options.jfa_opt, path, f"--arch={options.arch}", "--emit=tlx", "-o",
         "-"] + keep_bindings(arguments), capture_output=True, text=True,
        check=True).stdout
    allocs = re.findall(
        r"^ *(%\w+) = tlx\.(?:local_alloc|alloc_barriers) .*\n", text, re.M)
    for name in allocs:
        if len(re.findall(rf"{name}\b", text)) == 1:
            text = re.sub(rf"^ *{name} = .*\n", "", text, flags=re.M)
    return text


def judge(options, lines, path, arguments):
    """What kills the mutant; empty if nothing does."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    for more in RUNS:
        arguments_of_run = arguments
        if more == ["--verify"]:
            arguments_of_run = keep_bindings(arguments) + [
                a for a in arguments if a.startswith("--fences")]
        verdict = run(options, path, arguments_of_run + more)
        if verdict:
            return verdict
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel")
    parser.add_argument("--jfa-sim", default="jfa-sim")
    parser.add_argument("--jfa-opt", default="jfa-opt")
    parser.add_argument("--preset", action="append", choices=PRESETS,
                        help="a problem for an attention kernel; all of them "
                        "without arguments for jfa-sim")
    parser.add_argument("arguments", nargs="*",
                        help="arguments of jfa-sim, after --")
    options = parser.parse_args()
    if options.arguments:
        presets = {"the arguments": options.arguments}
    else:
        presets = {name: PRESETS[name].split()
                   for name in options.preset or PRESETS}
    folder = os.path.basename(os.path.dirname(os.path.abspath(options.kernel)))
    options.arch = "sm_100a" if folder == "sm100" else "sm_90a"
    with open(options.kernel, encoding="utf-8") as file:
        lines = file.read().split("\n")
    matrices, survivors = collections.defaultdict(dict), []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mutant.mlir")
        mutants = [(name, line, mutant, [])
                   for name, operator in OPERATORS.items()
                   for line, mutant in operator(lines)]
        mutants.append(("insert no fence", None, lines, ["--fences=as-written"]))
        for preset, arguments in presets.items():
            if judge(options, lines, path, arguments):
                print(f"{preset}: the kernel itself does not pass")
                return 1
            original = specialize(options, lines, path, arguments)
            for name, line, mutant, more in mutants:
                verdict = judge(options, mutant, path, arguments + more)
                if not verdict and not more and \
                        specialize(options, mutant, path, arguments) == original:
                    verdict = EQUIVALENT
                row = matrices[preset].setdefault(name, collections.Counter())
                row[verdict or "survives"] += 1
                if not verdict:
                    survivors.append((preset, name, line))
            show(preset, matrices[preset])
    for preset, name, line in survivors:
        where = f", line {line + 1}: {lines[line].strip()}" if line else ""
        print(f"survives with {preset}: {name}{where}")
    return 1 if survivors else 0


def show(preset, matrix):
    total = sum(sum(row.values()) for row in matrix.values())
    same = sum(row[EQUIVALENT] for row in matrix.values())
    killed = total - same - sum(row["survives"] for row in matrix.values())
    print(f"\n### {preset}: {killed} of {total} killed, {same} equivalent\n")
    print("| mutation | mutants | killed | by |\n|---|---|---|---|")
    for name, row in matrix.items():
        count = sum(row.values())
        how = ", ".join(f"{verdict} {n}" for verdict, n in row.most_common()
                        if verdict not in ("survives", EQUIVALENT))
        left = row["survives"] + row[EQUIVALENT]
        print(f"| {name} | {count} | {count - left} | {how} |",
              flush=True)


if __name__ == "__main__":
    sys.exit(main())
