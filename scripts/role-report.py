#!/usr/bin/env python3
"""Writes how many instructions a step of each role of kernels for Blackwell takes into
docs/Performance.md, or checks that it says so.

    scripts/role-report.py SOURCE... --jfa-opt FILE --nvdisasm FILE [--document FILE]
                           [--check]

The machine code's line table says which task an instruction comes from. A role's step
is its innermost loop that does the role's work: what the sm_100a units take for one
block of keys, or queries, is bounded from that. Of the backward it also says what
@reduce does while it holds the columns of dQ. A ptxas of another version makes other
code; then the check is skipped, with a line that says SKIPPED.
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
BEGIN = "<!-- roles of {} that ptxas {} assembled -->"
END = "<!-- end of roles -->"
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
        "multiply": "UTCHMMA", "store": "UTMASTG", "compute": "MUFU",
        "reduce": "UTMAREDG", "relay": "SYNCS"}
COLUMNS = ["role", "warps", "registers", "instructions", *UNITS, OTHER]
# What happens between the wait for dQ and the arrival that hands its columns back.
HELD = {"loads": "LDTM", "stores to shared memory": "STS", "copies begun": "UTMAREDG",
        "waits for a copy": "UTMACMDFLUSH", "waits for the other warps": "BAR"}
HELD_COLUMNS = ["EARLY_RELEASE", "instructions while dQ is held", *HELD]


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


def find_step(code, labels, role, reader):
    return reader.find_main_loop(
        code, labels,
        lambda i: i.role == role and i.name.startswith(WORK[role]))


def make_rows(text, tasks, registers, reader, variant=""):
    code, labels = read_roles(text, tasks, reader)
    rows = []
    for name, warps, budget, _ in tasks:
        step = find_step(code, labels, name, reader)
        counts = collections.Counter(unit_of(i.name) for i in step)
        rows.append({"role": f"@{name}{variant}", "warps": str(warps),
                     "registers": str(registers.get(budget, budget)),
                     "instructions": str(len(step)),
                     **{unit: str(counts[unit]) for unit in (*UNITS, OTHER)}})
    return rows


def make_held_row(text, tasks, early, reader):
    """What @reduce does from the wait before its first piece of dQ to the arrival."""
    names = [i.name for i in find_step(*read_roles(text, tasks, reader), "reduce",
                                       reader)]
    first = next(i for i, name in enumerate(names) if name.startswith("UTMAREDG"))
    begin = max(i for i in range(first) if names[i].startswith("SYNCS.PHASECHK"))
    end = next(i for i in range(begin, len(names))
               if names[i].startswith("SYNCS.ARRIVE"))
    held = names[begin + 1:end]
    return {"EARLY_RELEASE": early, HELD_COLUMNS[1]: str(len(held)),
            **{what: str(sum(name.startswith(prefix) for name in held))
               for what, prefix in HELD.items()}}


def compile_kernel(options, source, *bindings):
    """The manifest and the disassembly of the kernel with its lines."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = os.path.join(folder, "kernel.cubin")
        bound = [word for binding in ("HEAD_DIM=128", "JAGGED=false", *bindings)
                 for word in ("-D", binding)]
        subprocess.run([options.jfa_opt, source, "--arch=sm_100a", *bound,
                        "--lineinfo", "--emit=cubin", "-o", cubin], check=True)
        text = subprocess.run([options.nvdisasm, "-g", "-c", cubin], check=True,
                              text=True, stdout=subprocess.PIPE).stdout
        with open(os.path.join(folder, "kernel.json"), encoding="utf-8") as file:
            return json.load(file)["kernels"][0], text


def make_report(options, source, reader):
    """The tables of a kernel, and the ptxas that assembled it."""
    manifest, text = compile_kernel(options, source)
    with open(source, encoding="utf-8") as file:
        tasks = read_tasks(file.read())
    rows = make_rows(text, tasks, manifest["parameters"], reader)
    if manifest["parameters"].get("CTAS") == 1:
        # Of a block each CTA has half then: twice as many have room.
        pair, pair_text = compile_kernel(options, source, "CTAS=2", "STAGES=6")
        rows += make_rows(pair_text, tasks, pair["parameters"], reader, ", pairs")
    report = reader.format_rows(rows, COLUMNS)
    if "EARLY_RELEASE" in manifest["parameters"]:
        late = compile_kernel(options, source, "EARLY_RELEASE=false")[1]
        rows = [make_held_row(text, tasks, "true", reader),
                make_held_row(late, tasks, "false", reader)]
        report += "\n" + reader.format_rows(rows, HELD_COLUMNS)
    return report, manifest["compiler"]["ptxas"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sources", nargs="+", metavar="SOURCE")
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
    reader, wrong = load_reader(), False
    for source in options.sources:
        name = os.path.basename(source)
        found = re.search(BEGIN.format(re.escape(name), r"(\S+)") +
                          rf"\n(.*?){END}\n", document, re.S)
        if not found:
            sys.exit(f"error: expected {options.document} to have "
                     f"'{BEGIN.format(name, 'VERSION')}' and its end, but got none")
        report, ptxas = make_report(options, source, reader)
        if options.check and ptxas != found[1]:
            print(f"SKIPPED: the report is of ptxas {found[1]}, but this is ptxas "
                  f"{ptxas}")
            return 0
        if options.check and report != found[2]:
            print(f"expected\n{report}but got\n{found[2]}"
                  "the target role-report writes it again")
            wrong = True
        document = (document[:found.start()] + BEGIN.format(name, ptxas) + "\n" +
                    report + END + "\n" + document[found.end():])
    if not options.check:
        with open(options.document, "w", encoding="utf-8") as file:
            file.write(document)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
