#!/usr/bin/env python3
# ===- mutate.py - Does the simulator notice broken kernels? -*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Breaks a kernel's protocol in one place at a time and prints a kill matrix.

A mutant is killed if jfa-sim reports a violation, computes wrong values, or if
the dialect refuses it. It is equivalent if binding its parameters or lowering it
gives the same as the original, or if mutation_problems.py says why. Survivors are listed with their
line, and make the exit code 1; so does a mutant that is listed there and killed.

    mutate.py KERNEL...                 for the problems of mutation_problems.py
    mutate.py KERNEL -- ARGUMENTS       for one problem, as jfa-sim takes it
"""

import argparse
import collections
import itertools
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)),
                                "..", "Inputs"))
from mutations import double, drop, replace
import mutation_problems


# What has no effect that others can notice.
QUIET = r"tlx\.(ring|local_view|local_slice|local_trans|local_reinterpret)\b"


def swap(pattern):
    """Exchanges lines that match with the next one that does in their block. Waits
    with nothing that others notice between them may come in any order."""

    def mutate(lines):
        found = [i for i, line in enumerate(lines) if re.search(pattern, line)]
        for i, j in zip(found, found[1:]):
            between = lines[i + 1:j]
            same = re.match(" *", lines[i])[0] == re.match(" *", lines[j])[0]
            is_noticed = any("tlx." in line and not re.search(QUIET, line)
                             for line in between)
            if same and is_noticed and not any("{" in line or "}" in line
                                               for line in between):
                new = list(lines)
                new[i], new[j] = new[j], new[i]
                yield i, new

    return mutate


def expect_other_bytes(lines):
    """Expects other bytes than those of the buffers, and those of one buffer less."""
    for i, line in enumerate(lines):
        if not re.search(r"^ *tlx\.barrier_expect_bytes", line):
            continue
        end = next(j for j in range(i, len(lines)) if " : " in lines[j]) + 1
        text = " ".join(part.strip() for part in lines[i:end])
        match = re.match(r"(tlx\.\w+ [^,]*), (.*) : ([^,]*), (.*)", text)
        if not match:
            continue
        barrier, buffers, barrier_type, types = match.groups()
        yield i, lines[:i] + [f"{barrier} bytes(1024) : {barrier_type}"] + lines[end:]
        if ", " in buffers:
            fewer = buffers.rpartition(", ")[0], types.rpartition(", ")[0]
            yield i, (lines[:i] + [f"{barrier}, {fewer[0]} : {barrier_type}, {fewer[1]}"]
                      + lines[end:])


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
    # None for no arrival, which the dialect refuses.
    "lower a count": replace(r"arrivals\((?!1\))(.*)\)", r"arrivals(\1 - 1)"),
    "expect other bytes": expect_other_bytes,
    "change a stage count": replace(r"stages\((\w+)\)", r"stages(\1 + 1)"),
    "swap two waits": swap(WAIT),
    "release before the last use": advance(ARRIVE, r"tlx\.async_dot_wait"),
    "drop a store wait": drop(r"^ *tlx\.async_descriptor_store_wait"),
    "drop a fence": lambda lines: itertools.chain(
        drop(r"^ *tlx\.fence_async_shared")(lines),
        replace(r"(tlx\.local_(?:load|store) (?!.* unfenced)[^:{]*) :",
                r"\1 unfenced :")(lines)),
    "wait for one store less": replace(
        r"(tlx\.async_descriptor_store_wait) pending\((\d+)\)",
        lambda m: f"{m[1]} pending({int(m[2]) + 1})"),
    "drop a named arrive": drop(r"^ *tlx\.named_barrier_arrive"),
    "drop a named wait": drop(r"^ *tlx\.named_barrier_wait"),
    "drop a semaphore wait": drop(r"^ *tlx\.semaphore_wait"),
    "drop a semaphore post": drop(r"^ *tlx\.semaphore_post"),
    "double a semaphore post": double(r"^ *tlx\.semaphore_post"),
    "wait for another turn": replace(
        r"(tlx\.semaphore_wait %\w+\[%\w+\]), %\w+ :", r"\1, %c1 :"),
    "wait for one dot less": replace(
        r"(tlx\.async_dot_wait .*)pending\((\d+)\)",
        lambda m: f"{m[1]}pending({int(m[2]) + 1})"),
    "alias live buffers": alias,
    "drop a cluster arrive": drop(r"^ *tlx\.cluster_arrive"),
    "drop a cluster wait": drop(r"^ *tlx\.cluster_wait"),
    "leave out a meeting": drop_pair(r"^ *tlx\.cluster_arrive",
                                     r"^ *tlx\.cluster_wait"),
    "tell one CTA only": replace(r"(remote_barrier_arrive .*) mask\(%all\)",
                                 r"\1 mask(%c1)"),
    "tell another CTA": replace(r"(remote_barrier_arrive .*) mask\(%c1\)",
                                r"\1 mask(%c2)"),
    "copy to one CTA only": replace(r"multicast\(%all\)", "multicast(%c1)"),
    "leave out the other CTA": replace(r" cta_group\(CTAS\)", ""),
}


VERDICTS = {0: "", 1: "wrong values", 2: "violation", 3: "refused"}
# Of a mutant that is lowered to the same kernel: what is changed was in a branch
# that is not taken, or has no use.
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


def keep_bindings(lines, arguments):
    """For --verify, which makes its own launches, and for the compiler."""
    kept = [argument for i, argument in enumerate(arguments)
            if "-D" in (argument, arguments[i - 1])]
    for flag, binding in (("--causal", "CAUSAL"),
                          ("--broadcast-q", "BROADCAST_QUERY")):
        if flag in arguments and any(f"tlx.param {binding} " in line
                                     for line in lines):
            kept += ["-D", f"{binding}=true"]
    return kept


def specialize(options, lines, path, arguments):
    """The kernel that is left once its parameters are bound, without buffers and
    barriers that nothing uses."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    text = subprocess.run(
        [options.jfa_opt, path, f"--arch={options.arch}", "--emit=tlx", "-o",
         "-"] + keep_bindings(lines, arguments), capture_output=True, text=True,
        check=True).stdout
    allocs = re.findall(
        r"^ *(%\w+) = tlx\.(?:local_alloc|alloc_barriers) .*\n", text, re.M)
    for name in allocs:
        if len(re.findall(rf"{name}\b", text)) == 1:
            text = re.sub(rf"^ *{name} = .*\n", "", text, flags=re.M)
    return text


def lower(options, lines, path, arguments):
    """What the kernel is lowered to; nothing if it is refused."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    result = subprocess.run(
        [options.jfa_opt, path, "--arch=" + options.arch, "--emit=nvvm",
         "--verify-protocol=off", "-o", "-"] + keep_bindings(lines, arguments),
        capture_output=True, text=True, check=False)
    return result.stdout if result.returncode == 0 else None


def is_same(options, lines, mutant, path, arguments):
    """Whether two kernels are the same once parameters are bound, or lowered."""
    return any(
        reduce(options, lines, path, arguments) ==
        reduce(options, mutant, path, arguments) is not None
        for reduce in (specialize, lower))


def judge(options, lines, path, problem, arguments):
    """What kills the mutant; empty if nothing does."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    further = mutation_problems.FURTHER_RUNS.get(problem, "").split()
    for more in RUNS + ([further] if further else []):
        arguments_of_run = arguments
        if more == ["--verify"]:
            arguments_of_run = keep_bindings(lines, arguments) + [
                a for a in arguments if a.startswith("--fences")]
        verdict = run(options, path, arguments_of_run + more)
        if verdict:
            return verdict
    return ""


def make_mutants(lines):
    """Names, places and texts of mutants, and further arguments of jfa-sim."""
    mutants = [(name, line, mutant, [])
               for name, operator in OPERATORS.items()
               for line, mutant in operator(lines)]
    return mutants + [("insert no fence", None, lines, ["--fences=as-written"])]


def find_task(lines, line):
    """The task that a line is in; nothing if it is in none."""
    for text in reversed(lines[:line]):
        if match := re.match(r" *tlx\.async_task @(\w+)", text):
            return match[1]
    return ""


def judge_all(options, kernel, problem, arguments, folder):
    """The matrix of a kernel, and those who survive; nothing if it does not pass
    itself."""
    with open(kernel, encoding="utf-8") as file:
        lines = file.read().split("\n")
    path = os.path.join(folder, "mutant.mlir")
    if verdict := judge(options, lines, path, problem, arguments):
        print(f"{kernel}: {problem}: the kernel itself does not pass: {verdict}")
        return None, []
    matrix, survivors = collections.defaultdict(collections.Counter), []
    for name, line, mutant, more in make_mutants(lines):
        if not re.search(options.mutations, name):
            continue
        verdict = judge(options, mutant, path, problem, arguments + more)
        text = lines[line].strip() if line else ""
        task = find_task(lines, line or 0)
        before = lines[line - 1].strip() if line else ""
        why = mutation_problems.why_equivalent(kernel, problem, name, task,
                                               f"{before}\n{text}")
        if why and verdict:
            survivors.append(f"killed, but held for equivalent in {kernel} with "
                             f"{problem}: {name}: {text}")
        same = not verdict and not more and \
            is_same(options, lines, mutant, path, arguments)
        if same or (why and not verdict):
            verdict = EQUIVALENT
        matrix[name][verdict or "survives"] += 1
        if not verdict:
            survivors.append(f"survives in {kernel} with {problem}: {name}, "
                             f"line {line + 1 if line else 0}: {text}")
    return matrix, survivors


def describe(row):
    return ", ".join(f"{verdict} {n}" for verdict, n in row.most_common()
                     if verdict not in ("survives", EQUIVALENT))


def show(problem, matrix):
    total = sum((row for row in matrix.values()), collections.Counter())
    count = sum(total.values())
    same = total[EQUIVALENT]
    killed = count - same - total["survives"]
    print(f"\n### {problem}: {killed} of {count} killed, {same} equivalent\n")
    print("| mutation | mutants | killed | by |\n|---|---|---|---|")
    for name, row in matrix.items():
        left = row["survives"] + row[EQUIVALENT]
        print(f"| {name} | {sum(row.values())} | {sum(row.values()) - left} | "
              f"{describe(row)} |")
    print(f"\n| {problem} | {count} | {killed} | {same} | {describe(total)} |",
          flush=True)


def parse():
    """The options, and the arguments after --."""
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kernels", nargs="+")
    parser.add_argument("--jfa-sim", default="jfa-sim")
    parser.add_argument("--jfa-opt", default="jfa-opt")
    parser.add_argument("--problem", action="append",
                        help="one of the kernel's problems instead of all")
    parser.add_argument("--mutations", default="", metavar="REGEX",
                        help="only those of which the name matches")
    options = parser.parse_args(sys.argv[1:at])
    return options, sys.argv[at + 1:]


def find_problems(options, kernel, arguments):
    if arguments:
        return {"the arguments": arguments}
    problems = mutation_problems.find(kernel)
    unknown = set(options.problem or []) - set(problems)
    if unknown or not problems:
        sys.exit(f"expected problems of {kernel} among "
                 f"{', '.join(problems) or 'none'}, but got "
                 f"{', '.join(unknown) or 'no arguments'}")
    return {name: problems[name] for name in options.problem or problems}


def main():
    options, arguments = parse()
    survivors, passes = [], True
    for kernel in options.kernels:
        kernel = os.path.abspath(kernel)
        options.arch = "sm_100a" if "/sm100/" in kernel else "sm_90a"
        print(f"## {os.path.basename(kernel)}")
        for problem, given in find_problems(options, kernel, arguments).items():
            with tempfile.TemporaryDirectory() as folder:
                matrix, more = judge_all(options, kernel, problem, given, folder)
            passes &= matrix is not None
            if matrix:
                show(problem, matrix)
            survivors += more
    print("\n".join(survivors))
    return 1 if survivors or not passes else 0


if __name__ == "__main__":
    sys.exit(main())
