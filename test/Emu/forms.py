"""Which forms of instructions ptxas accepts, and which of them jfa-emu executes.

    forms.py generate FILE --ptxas ptxas     asks ptxas about all candidates and
                                             writes down those that it accepts
    forms.py check FILE --emulator jfa-emu   decodes each of them and counts

The file that the test uses, Inputs/forms.txt.gz, is ptxas 13.0.88's answer.

Candidates are those of candidates.py.
"""

import argparse
import collections
import concurrent.futures
import gzip
import os
import re
import subprocess
import sys
import tempfile

from candidates import FAMILIES, get_candidates

TARGETS = {"sm_90a": "8.6", "sm_100a": "8.7"}
REGISTERS = """  .reg .pred %p<8>;
  .reg .b16 %h<16>;
  .reg .b32 %r<300>;
  .reg .f32 %f<300>;
  .reg .b64 %rd<16>;
  .reg .f64 %d<8>;
  .reg .b128 %q<4>;
  .reg .b8 %b<4>;
  .shared .align 16 .b8 shared[1024];
"""


def make_module(target, texts):
    """A kernel for each instruction, and the lines where these are."""
    lines = [f".version {TARGETS[target]}", f".target {target}",
             ".address_size 64"]
    where = {}
    for number, text in enumerate(texts):
        lines += [f".visible .entry k{number}()", ".reqntid 128",
                  ".minnctapersm 1", "{"] + REGISTERS.splitlines()
        lines.append(f"  {text}")
        where[len(lines)] = number
        lines += ["  ret;", "}"]
    return "\n".join(lines) + "\n", where


#===----------------------------------------------------------------------===#
# ptxas
#===----------------------------------------------------------------------===#

def ask_ptxas(ptxas, target, texts):
    """Those that ptxas accepts; whatever it complains about is taken out."""
    left = list(texts)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "forms.ptx")
        while left:
            module, where = make_module(target, left)
            with open(path, "w") as file:
                file.write(module)
            result = subprocess.run(
                [ptxas, f"-arch={target}", "-O0", path, "-o",
                 os.path.join(folder, "out")], capture_output=True, text=True)
            if result.returncode == 0:
                return left
            bad = {where[int(line)] for line in
                   re.findall(r"line (\d+); (?:error|fatal)",
                              result.stderr + result.stdout)
                   if int(line) in where}
            if not bad:
                if len(left) == 1:
                    return []
                middle = len(left) // 2
                return (ask_ptxas(ptxas, target, left[:middle]) +
                        ask_ptxas(ptxas, target, left[middle:]))
            left = [t for i, t in enumerate(left) if i not in bad]
    return left


def generate(options):
    families = collections.defaultdict(list)
    for family, text in get_candidates():
        families[family].append(text)
    jobs = [(target, family, texts[at:at + 80]) for target in TARGETS
            for family, texts in families.items()
            for at in range(0, len(texts), 80)]
    accepted = collections.defaultdict(set)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for job, texts in zip(jobs, pool.map(
                lambda job: ask_ptxas(options.ptxas, job[0], job[2]), jobs)):
            for text in texts:
                accepted[job[1], text].add(job[0])
            print(f"{job[0]} {job[1]}: {len(texts)} of {len(job[2])}",
                  flush=True)
    lines = [f"{family} {','.join(sorted(accepted[family, text]))} {text}\n"
             for family, texts in families.items() for text in texts
             if (family, text) in accepted]
    # Without a date, so that the same answers make the same file.
    with open(options.file, "wb") as file:
        file.write(gzip.compress("".join(lines).encode(), mtime=0))


#===----------------------------------------------------------------------===#
# The emulator
#===----------------------------------------------------------------------===#

def read_forms(path):
    forms = collections.defaultdict(list)
    with gzip.open(path, "rt") as file:
        for line in file:
            family, targets, text = line.rstrip("\n").split(" ", 2)
            for target in targets.split(","):
                forms[target].append((family, text))
    return forms


def decode(options, target, forms, scratch):
    """For each form what it is refused with, or nothing."""
    module, where = make_module(target, [text for _, text in forms])
    with open(scratch, "w") as file:
        file.write(module)
    result = subprocess.run([options.emulator, scratch, "--parse"],
                            capture_output=True, text=True)
    if result.returncode not in (0, 3):
        raise SystemExit(f"exit code {result.returncode}: "
                         f"{result.stderr[-500:]}")
    executed = {int(n) for n in
                re.findall(r"^k(\d+): \d+ instructions$", result.stdout, re.M)}
    refused = {}
    for line, message in re.findall(r"line (\d+): (.*)$", result.stderr, re.M):
        if int(line) in where:
            refused[where[int(line)]] = message
    return [refused.get(n, None if n in executed else "")
            for n in range(len(forms))]


def run_each(options, target, forms, answers, scratch):
    """Executes each form once on registers that are zero: it may be a
    violation, but must end."""
    failures = 0
    for number, ((_, text), answer) in enumerate(zip(forms, answers)):
        if answer is not None or number % options.every:
            continue
        module, _ = make_module(target, [text])
        with open(scratch, "w") as file:
            file.write(module)
        result = subprocess.run(
            [options.emulator, scratch, "--max-instructions=1000"],
            capture_output=True, text=True, timeout=60)
        if result.returncode not in (0, 2):
            failures += 1
            print(f"{target} {text}: exit code {result.returncode} "
                  f"{result.stderr[:200]}")
    return failures


def check(options):
    counts, failures = collections.Counter(), 0
    for target, forms in read_forms(options.file).items():
        answers = decode(options, target, forms, options.scratch)
        for (family, text), answer in zip(forms, answers):
            name = text.split()[0].rstrip(";")
            counts[family, "accepted"] += 1
            counts[family, "executed"] += answer is None
            if answer is None:
                continue
            # By name; the message may be about the operands of a form.
            if name not in answer and not answer.startswith("expected"):
                failures += 1
                print(f"{target} {text}: refused with '{answer}'")
            if options.list:
                print(f"{target} {text}: {answer}")
        if options.every:
            failures += run_each(options, target, forms, answers,
                                 options.scratch)
    total = collections.Counter()
    for family in FAMILIES:
        accepted, executed = (counts[family.__name__, what]
                              for what in ("accepted", "executed"))
        total["accepted"] += accepted
        total["executed"] += executed
        print(f"{family.__name__}: {accepted} accepted, {executed} executed, "
              f"{accepted - executed} refused")
    print(f"all: {total['accepted']} accepted, {total['executed']} executed, "
          f"{total['accepted'] - total['executed']} refused, {failures} "
          "failures")
    return failures != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("generate", "check"))
    parser.add_argument("file")
    parser.add_argument("--emulator", default="jfa-emu")
    parser.add_argument("--scratch", default="forms.ptx")
    parser.add_argument("--ptxas", default=os.environ.get("JFA_PTXAS", "ptxas"))
    parser.add_argument("--list", action="store_true",
                        help="print what is refused")
    parser.add_argument("--every", type=int, default=0,
                        help="run one of so many forms")
    options = parser.parse_args()
    return {"generate": generate, "check": check}[options.action](options)


if __name__ == "__main__":
    sys.exit(main())
