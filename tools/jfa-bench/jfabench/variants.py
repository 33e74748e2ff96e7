# ===- variants.py - Kernels to compare ------------------ -*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Variants of the shipped kernels, compiled on a machine that has the compiler and
measured on one that has a GPU. What passes between them is a folder: a bundle for
each kernel, and `variants.json`, which says what they are."""

import hashlib
import json
import math
import os
import subprocess
from dataclasses import asdict, dataclass, field
from concurrent.futures import ThreadPoolExecutor

from .specializations import PROBLEM, TableError, expand, read_rows

SCHEMA = 1


@dataclass
class Variant:
    """Other tunables for a row of the specialisations; `bundle` or `refusal` says
    what became of it."""

    name: str
    tunables: dict
    bundle: str = ""
    refusal: str = ""
    facts: dict = field(default_factory=dict)
    # A name in jfabench.levers.WORK_ORDERS, when measured.
    work_order: str = "balanced"


@dataclass
class Set:
    """A row of the specialisations and its variants, the first as shipped."""

    line: int
    problem: dict
    variants: list


def describe(tunables, shipped):
    """How tunables differ from the shipped ones."""
    return " ".join(f"{n}={v}" for n, v in tunables.items()
                    if shipped.get(n) != v) or "as shipped"


def tuning_sets(rows, candidates, source):
    """Each row with the candidates that apply to it. A candidate's value `-` is the
    row's own; columns of the problem restrict to which rows a line applies."""
    names, lines = read_rows(candidates, source)
    for name in names:
        if rows and name not in rows[0].values:
            raise TableError(f"{source}: expected parameters that the "
                             f"specialisations have, but got '{name}'")
    result = []
    for row in rows:
        shipped = row.tunables
        wanted = [shipped]
        for line in lines:
            if not any(row.serves(p) for p in expand(line.problem)):
                continue
            for values in expand(line.tunables):
                tunables = {**shipped, **{n: v for n, v in values.items()
                                          if v != "-"}}
                if tunables not in wanted:
                    wanted.append(tunables)
        result.append(Set(row.line, row.first_problem(),
                          [Variant(describe(t, shipped), t) for t in wanted]))
    return result


def command_line(jfa_opt, ptxas, kernel, arch, problem, variant, output):
    values = {**problem, **variant.tunables}
    words = ",".join(f"{n}={v}" for n, v in values.items())
    result = [jfa_opt, kernel, f"--arch={arch}", f"--specialize={words}",
              "--emit=bundle", "-o", output]
    return result + ([f"--ptxas={ptxas}"] if ptxas else [])


def first_error(text):
    """The line of a compiler's output that says what is wrong."""
    lines = [line for line in text.splitlines() if line.strip()]
    for line in lines:
        if "error: " in line:
            return line.split("error: ", 1)[1]
    return lines[0] if lines else "no message"


def compile_variant(options, problem, variant, folder):
    key = json.dumps([problem, variant.tunables], sort_keys=True)
    name = hashlib.sha256(key.encode()).hexdigest()[:16] + ".jfab"
    command = command_line(options.jfa_opt, options.ptxas, options.kernel_source,
                           options.arch, problem, variant,
                           os.path.join(folder, name))
    try:
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.STDOUT)
    except OSError as error:
        raise TableError(f"expected '--jfa-opt' to name jfa-opt, but got "
                         f"'{options.jfa_opt}': {error.strerror}") from error
    if result.returncode:
        variant.refusal = first_error(result.stdout)
        return
    variant.bundle = name
    manifest = os.path.join(folder, name.replace(".jfab", ".json"))
    with open(manifest, encoding="utf-8") as file:
        facts = json.load(file)["kernels"][0]
    variant.facts = {n: facts[n] for n in (
        "registers", "shared_memory_bytes", "spill_store_bytes",
        "spill_load_bytes")}
    os.remove(manifest)


def compile_sets(options, sets, folder, kind):
    """Compiles all variants into a folder."""
    os.makedirs(folder, exist_ok=True)
    # The same kernel may be a variant of several kinds: compiled once.
    first, jobs = {}, []
    for each in sets:
        for variant in each.variants:
            key = json.dumps([each.problem, variant.tunables], sort_keys=True)
            if key not in first:
                first[key] = variant
                jobs.append((each.problem, variant))
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda job: compile_variant(options, *job, folder), jobs))
    for each in sets:
        for variant in each.variants:
            key = json.dumps([each.problem, variant.tunables], sort_keys=True)
            done = first[key]
            variant.bundle, variant.refusal = done.bundle, done.refusal
            variant.facts = done.facts
    with open(os.path.join(folder, "variants.json"), "w",
              encoding="utf-8") as file:
        json.dump({"schema": SCHEMA, "kind": kind,
                   "sets": [asdict(each) for each in sets]}, file, indent=1)


def load_sets(folder, kind):
    path = os.path.join(folder, "variants.json")
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, ValueError) as error:
        raise TableError(f"expected '{path}' to be readable, but got: "
                         f"{error}") from error
    if data.get("schema") != SCHEMA or data.get("kind") != kind:
        raise TableError(
            f"expected '{path}' to be of schema {SCHEMA} and kind '{kind}', but "
            f"got {data.get('schema')} and '{data.get('kind')}'")
    return [Set(each["line"], each["problem"],
                [Variant(**variant) for variant in each["variants"]])
            for each in data["sets"]]


def shapes_of(each, shapes):
    """The shapes that a set's kernels serve."""
    problem = {n: v for n, v in each.problem.items() if n in PROBLEM}

    def limit(name):
        return int(problem.get(name, 0))

    def suits(shape):
        # A limit of 0 stands for none.
        queries = [n for n in shape.q_len if n > 0]
        return (min(queries, default=0) >= limit("MIN_QUERIES") and
                max(queries, default=0) <= (limit("MAX_QUERIES") or math.inf) and
                max(shape.k_len, default=0) <= (limit("MAX_KEYS") or math.inf))

    return [s for s in shapes
            if suits(s) and all(v in problem.get(n, v).split(",")
                                for n, v in s.problem.items())]


def share_out(sets, shapes):
    """The shapes that each set is measured on, by its line: as a plan takes the first
    kernel that suits, a shape is for the first set that does."""
    result, left = {}, list(shapes)
    for each in sets:
        own = result[each.line] = shapes_of(each, left)
        left = [s for s in left if not any(s is o for o in own)]
    return result


def apply_timings(sets, data):
    """Timings by line of the table; what the run refused is noted in the sets."""
    if not isinstance(data, dict) or "timings" not in data:
        raise TableError("expected timings as '--timings' writes them, but got "
                         "something else")
    for each in sets:
        for variant in each.variants:
            reason = data["refused"].get(str(each.line), {}).get(variant.name)
            variant.refusal = variant.refusal or reason or ""
    return {each.line: data["timings"].get(str(each.line), {}) for each in sets}
