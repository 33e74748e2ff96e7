#!/usr/bin/env python3
"""Writes what the shipped kernels take into docs/Performance.md, or checks that it
says so.

    scripts/resource-report.py BUNDLE... [--nvdisasm FILE] [--document FILE] [--check]

Registers, spills, stack and shared memory are from the bundle's manifests; what the
machine code has is read with nvdisasm. The report names the ptxas that assembled the
kernels: a check against kernels of another one would fail for no fault of ours, so it
is skipped, with a line that says SKIPPED.
"""

import argparse
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

BEGIN = "<!-- resources of kernels that ptxas {} assembled -->"
MARKERS = re.compile(BEGIN.format(r"(\S+)") + r"\n(.*?)<!-- end of resources -->\n",
                     re.S)
COLUMNS = ["for", "D", "mask", "mode", "lengths", "type", "tile", "stages",
           "registers", "spills, stack", "shared memory", "products", "loop",
           "waits", "setmaxnreg"]
# What tells kernels apart.
KEYS = COLUMNS[:6]
# These need a disassembler.
DISASSEMBLED = ["products", "loop", "waits", "setmaxnreg"]
# Products of matrices on Hopper and on Blackwell.
PRODUCTS = ("HGMMA", "UTCHMMA")
TOOLS = os.path.dirname(os.path.realpath(__file__))


def read_bundle(path):
    """Manifests and cubins, as docs/Manifest.md describes them."""
    with open(path, "rb") as file:
        data = file.read()
    magic, version, _, size = struct.unpack_from("<8sIIQ", data)
    if magic != b"JFABUNDL" or version != 1:
        sys.exit(f"error: expected '{path}' to be a bundle of version 1, but got "
                 f"{magic!r}, version {version}")
    blobs = (24 + size + 15) // 16 * 16
    result = []
    for kernel in json.loads(data[24:24 + size])["kernels"]:
        at = blobs + kernel["cubin"]["offset"]
        result.append((kernel, data[at:at + kernel["cubin"]["size"]]))
    return result


@dataclass
class Instruction:
    name: str
    text: str
    # The task that it is from, where that is known.
    role: str = ""


def read_code(text):
    """The instructions of a disassembly, and the place of each label."""
    code, labels = [], {}
    for line in text.splitlines():
        label = re.match(r"(\.L_\w+):", line)
        found = re.match(r"\s+/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?(\S+)(.*?);", line)
        if label:
            labels[label[1]] = len(code)
        elif found:
            code.append(Instruction(found[1], found[0].strip()))
    return code, labels


def is_product(instruction):
    return instruction.name.split(".")[0] in PRODUCTS


def find_main_loop(code, labels, does_work=is_product):
    """The innermost loop with most of the work, the first of several."""
    loops = []
    for end, instruction in enumerate(code):
        target = re.search(r"BRA.*`\((\.L_\w+)\)", instruction.text)
        if target and labels.get(target[1], end + 1) <= end:
            begin = labels[target[1]]
            count = sum(map(does_work, code[begin:end + 1]))
            if count:
                loops.append((begin, end, count))
    # What a wait does in vain is moved past the end and branches back into a loop;
    # that makes none.
    loops = [a for a in loops
             if not any(b[0] < a[0] <= b[1] < a[1] for b in loops)]
    inner = [a for a in loops
             if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in loops)]
    if not inner:
        return []
    begin, end, _ = max(inner, key=lambda loop: loop[2])
    return code[begin:end + 1]


def count_products(code):
    return sum(map(is_product, code))


def describe_code(text):
    """The cells that machine code has."""
    code, labels = read_code(text)
    loop = find_main_loop(code, labels)
    waits, done = [], 0
    for instruction in loop:
        done += instruction.name.startswith("MUFU")
        pending = re.search(r"WARPGROUP\.DEPBAR\.LE gsb\d, 0x(\w+)",
                            instruction.text)
        if pending:
            waits.append(f"{int(pending[1], 16)} at {done}")
    budgets = [re.search(r"0x(\w+)", i.text.split("USETMAXREG")[1])[1]
               for i in code if i.name.startswith("USETMAXREG")]
    return {
        "products": f"{count_products(code)}, {count_products(loop)}",
        "loop": str(len(loop)),
        "waits": f"{'; '.join(waits)} of {done}" if waits else "-",
        "setmaxnreg": " / ".join(str(int(b, 16)) for b in budgets),
    }


def disassemble(nvdisasm, cubin):
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        return subprocess.run([nvdisasm, "-c", file.name], check=True, text=True,
                              stdout=subprocess.PIPE).stdout


def describe_lengths(parameters):
    """For which lengths a kernel is: limits of 0 are none, as are missing ones."""
    fewest, most, keys = (parameters.get(n) for n in (
        "MIN_QUERIES", "MAX_QUERIES", "MAX_KEYS"))
    queries = (f"{fewest} to {most} queries" if fewest and most else
               f"from {fewest} queries" if fewest else
               f"up to {most} queries" if most else "")
    keys = f"up to {keys} keys" if keys else ""
    return ", ".join(filter(None, (queries, keys))) or "any"


def describe(kernel):
    """The cells that a manifest has."""
    p = kernel["parameters"]
    backward = ", backward" if kernel["entry"] == "attention_bwd" else ""
    rings = ["STAGES"] if "STAGES" in p else ["Q_STAGES", "DO_STAGES"]
    mode = ("broadcast query" if p["BROADCAST_QUERY"] else
            "jagged" if p["JAGGED"] else "dense")
    if p.get("DETERMINISTIC"):
        mode += ", deterministic"
    return {
        "for": kernel["arch"] + backward,
        "D": str(p["HEAD_DIM"]),
        "mask": "causal" if p["CAUSAL"] else "full",
        "mode": mode,
        "lengths": describe_lengths(p),
        "type": p["ELEMENT"],
        "tile": f"{p['BLOCK_M']} x {p['BLOCK_N']}",
        "stages": ", ".join(str(p[ring]) for ring in rings),
        "registers": str(kernel["registers"]),
        "spills, stack": f"{kernel['spill_store_bytes']}/"
                         f"{kernel['spill_load_bytes']}, {kernel['stack_bytes']}",
        "shared memory": str(kernel["shared_memory_bytes"]),
    }


def make_rows(kernels, nvdisasm):
    """A row of cells for each kernel; types that agree share one."""
    rows = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        codes = list(pool.map(lambda k: disassemble(nvdisasm, k[1])
                              if nvdisasm else "", kernels))
    for (kernel, _), code in zip(kernels, codes):
        row = describe(kernel)
        if nvdisasm:
            row.update(describe_code(code))
        same = next((r for r in rows if all(
            r[c] == row[c] for c in row if c != "type")), None)
        if same:
            same["type"] += ", " + row["type"]
        else:
            rows.append(row)
    return rows


def format_rows(rows, columns=COLUMNS):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(row[c] for c in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def parse_rows(table):
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in lines]
    return [dict(zip(cells[0], line)) for line in cells[1:]]


def split_types(rows):
    """One row for each type, so that what types share does not matter."""
    return [{**row, "type": word} for row in rows
            for word in row["type"].split(", ")]


def check(document, rows, columns):
    """What the document says otherwise than the rows."""
    said = {tuple(row[c] for c in KEYS): row
            for row in split_types(document)}
    problems = []
    for row in split_types(rows):
        key = tuple(row[c] for c in KEYS)
        other = said.pop(key, None)
        if other is None:
            problems.append(f"expected a row for {' '.join(key)}, but got none")
            continue
        problems += [f"{' '.join(key)}: expected '{c}' to be {row[c]}, but got "
                     f"{other.get(c)}" for c in columns if other.get(c) != row[c]]
    problems += [f"expected rows of shipped kernels, but got one for "
                 f"{' '.join(key)}" for key in said]
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bundles", nargs="+", metavar="BUNDLE")
    parser.add_argument("--nvdisasm", default="")
    parser.add_argument("--document",
                        default=os.path.join(TOOLS, "../docs/Performance.md"))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    kernels = [k for bundle in options.bundles for k in read_bundle(bundle)]
    with open(options.document, encoding="utf-8") as file:
        text = file.read()
    found = MARKERS.search(text)
    if not found:
        sys.exit(f"error: expected {options.document} to have '"
                 f"{BEGIN.format('VERSION')}' and its end, but got none")
    ptxas = kernels[0][0]["compiler"]["ptxas"]
    if options.check and ptxas != found[1]:
        print(f"SKIPPED: the report is of ptxas {found[1]}, but the kernels are of "
              f"ptxas {ptxas}")
        return 0
    if not options.check and not options.nvdisasm:
        sys.exit("error: expected '--nvdisasm' to name nvdisasm, but got none: "
                 "scripts/setup installs it")
    rows = make_rows(kernels, options.nvdisasm)
    if options.check:
        columns = [c for c in COLUMNS
                   if options.nvdisasm or c not in DISASSEMBLED]
        problems = check(parse_rows(found[2]), rows, columns)
        for problem in problems:
            print(problem)
        if problems:
            print("the target resource-report writes it again")
        return 1 if problems else 0
    report = (BEGIN.format(ptxas) + "\n" + format_rows(rows) +
              "<!-- end of resources -->\n")
    with open(options.document, "w", encoding="utf-8") as file:
        file.write(text[:found.start()] + report + text[found.end():])
    return 0


if __name__ == "__main__":
    sys.exit(main())
