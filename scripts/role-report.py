#!/usr/bin/env python3
"""Writes how many instructions a step of each role of the Blackwell forward takes into
docs/Performance.md, or checks that it says so.

    scripts/role-report.py SOURCE --jfa-opt FILE --nvdisasm FILE [--document FILE]
                           [--check]

The machine code's line table says which task an instruction comes from. A role's step
is its innermost loop that does the role's work: what the sm_100a units take for one
block of keys is bounded from that. A ptxas of another version makes other code; then
the check is skipped, with a line that says SKIPPED.
"""

import argparse
import collections
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile

TOOLS = os.path.dirname(os.path.realpath(__file__))
BEGIN = "<!-- roles of kernels that ptxas {} assembled -->"
MARKERS = re.compile(BEGIN.format(r"(\S+)") + r"\n(.*?)<!-- end of roles -->\n", re.S)
# The unit that executes an instruction; the first that matches.
UNITS = {
    "tensor": r"UTC\w*MMA",
    "MUFU": r"MUFU",
    "FMA": r"F(MUL|ADD|FMA|SEL)2?$|HFMA2|IMAD",
    "ALU": r"FMNMX3?|FSETP|F2FP|ISETP|LOP3|SHF|IADD3|LEA|MOV|SEL|VI\w+|SGXT|PLOP3|"
           r"I2F|F2I",
    "tensor memory": r"LDTM|STTM|UTCBAR",
    "copies": r"UTMA\w+|LDG|STG|LDS|STS|LDC\w*",
    "barriers": r"SYNCS|BAR|FENCE|DEPBAR|MEMBAR|WARPSYNC",
}
OTHER = "uniform, branches"
# What each role is there for, and so what its step is known by.
WORK = {"softmax": "MUFU", "correction": "LDTM", "load": "UTMALDG",
        "multiply": "UTCHMMA", "store": "UTMASTG"}
# What is added to the names of roles, and the parameters of the kernel.
VARIANTS = {"": [], ", pairs": ["-D", "CTAS=2", "-D", "STAGES=6"]}
COLUMNS = ["role", "warps", "registers", "instructions", *UNITS, OTHER]


def load_reader():
    """The reader of disassemblies that resource-report.py has."""
    path = os.path.join(TOOLS, "resource-report.py")
    spec = importlib.util.spec_from_file_location("resource_report", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["resource_report"] = module
    spec.loader.exec_module(module)
    return module


def read_tasks(source):
    """Name, warps, registers and lines of the tasks of a kernel."""
    lines = source.splitlines()
    tasks = []
    for number, line in enumerate(lines, 1):
        found = re.match(r"(\s*)tlx\.async_task @(\w+) warps\((\d+)\)"
                         r"(?: registers\((\w+)\))?(?:.*replicate\((\d+)\))?", line)
        if not found:
            continue
        end = next(n for n in range(number, len(lines))
                   if lines[n].startswith(found[1] + "}")) + 1
        warps = int(found[3]) * int(found[5] or 1)
        tasks.append((found[2], warps, found[4], range(number, end + 1)))
    return tasks


def unit_of(name):
    name = name.split(".")[0]
    return next((unit for unit, names in UNITS.items()
                 if re.match(rf"(?:{names})", name)), OTHER)


def read_roles(text, tasks, reader):
    """Instructions that know their roles, and the places of labels."""
    code, labels = reader.read_code(text)
    role, at = "", 0
    for line in text.splitlines():
        place = re.search(r'//## File ".*", line (\d+)', line)
        if place:
            # Lines of functions that were inlined belong to who called them.
            role = next((t[0] for t in tasks if int(place[1]) in t[3]), role)
        elif at < len(code) and line.strip() == code[at].text:
            code[at].role = role
            at += 1
    if at != len(code):
        sys.exit(f"error: expected {len(code)} instructions, but got {at}")
    return code, labels


def make_rows(text, tasks, registers, reader, variant):
    code, labels = read_roles(text, tasks, reader)
    rows = []
    for name, warps, budget, _ in tasks:
        step = reader.find_main_loop(
            code, labels, lambda i: i.role == name and
            i.name.startswith(WORK[name]))
        counts = collections.Counter(unit_of(i.name) for i in step)
        rows.append({"role": f"@{name}{variant}", "warps": str(warps),
                     "registers": str(registers.get(budget, budget)),
                     "instructions": str(len(step)),
                     **{unit: str(counts[unit]) for unit in (*UNITS, OTHER)}})
    return rows


def compile_kernel(options, bindings):
    """The manifest and the disassembly of the kernel with its lines."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = os.path.join(folder, "kernel.cubin")
        subprocess.run([options.jfa_opt, options.source, "--arch=sm_100a", "-D",
                        "HEAD_DIM=128", "-D", "JAGGED=false", *bindings,
                        "--lineinfo", "--emit=cubin", "-o", cubin], check=True)
        text = subprocess.run([options.nvdisasm, "-g", "-c", cubin], check=True,
                              text=True, stdout=subprocess.PIPE).stdout
        with open(os.path.join(folder, "kernel.json"), encoding="utf-8") as file:
            return json.load(file)["kernels"][0], text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("--jfa-opt", required=True)
    parser.add_argument("--nvdisasm", default="")
    parser.add_argument("--document",
                        default=os.path.join(TOOLS, "../docs/Performance.md"))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not options.nvdisasm:
        print("SKIPPED: expected '--nvdisasm' to name nvdisasm, but got none: "
              "scripts/setup installs it")
        return 0
    with open(options.document, encoding="utf-8") as file:
        document = file.read()
    found = MARKERS.search(document)
    if not found:
        sys.exit(f"error: expected {options.document} to have "
                 f"'{BEGIN.format('VERSION')}' and its end, but got none")
    compiled = {variant: compile_kernel(options, bindings)
                for variant, bindings in VARIANTS.items()}
    ptxas = compiled[""][0]["compiler"]["ptxas"]
    if options.check and ptxas != found[1]:
        print(f"SKIPPED: the report is of ptxas {found[1]}, but this is ptxas {ptxas}")
        return 0
    with open(options.source, encoding="utf-8") as file:
        tasks = read_tasks(file.read())
    reader = load_reader()
    rows = [row for variant, (manifest, text) in compiled.items()
            for row in make_rows(text, tasks, manifest["parameters"], reader,
                                 variant)]
    table = reader.format_rows(rows, COLUMNS)
    if options.check:
        if table != found[2]:
            print(f"expected\n{table}but got\n{found[2]}"
                  "the target role-report writes it again")
        return 1 if table != found[2] else 0
    report = BEGIN.format(ptxas) + "\n" + table + "<!-- end of roles -->\n"
    with open(options.document, "w", encoding="utf-8") as file:
        file.write(document[:found.start()] + report + document[found.end():])
    return 0


if __name__ == "__main__":
    sys.exit(main())
