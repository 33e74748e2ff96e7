#!/usr/bin/env python3
# ===- mutate.py - Does the emulator notice broken PTX? -*- Python -*-------=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Breaks PTX in one place at a time and prints a kill matrix.

A mutant is killed if jfa-emu reports a violation, finds wrong values, or
refuses it. Survivors are listed with their line.
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


def flip_descriptor(bits):
    """Flips bits of the constant part of a matrix descriptor."""
    return replace(r"(or|add)(\S+ \t?\S+, \S+, )(46116862\d+)",
                   lambda m: f"{m[1]}{m[2]}{int(m[3]) ^ bits}")


def split_products(text):
    """The lines of PTX, those that hold all instructions of a product as one each."""
    lines = []
    for line in text.splitlines():
        if "wgmma.mma_async" in line:
            lines += re.findall(r"[^;]*;|[^;]+$", line)
        else:
            lines.append(line)
    return lines


ARRIVE = r"^\s*mbarrier\.arrive\.(release\.cta\.)?shared"
EXPECT = r"^\s*mbarrier\.arrive\.expect_tx"
WAIT = r"mbarrier\.try_wait"
MUTATIONS = {
    "drop an arrive": drop(ARRIVE),
    "double an arrive": double(ARRIVE),
    "drop an expect_tx": drop(EXPECT),
    "expect half of the bytes": replace(
        r"mov\.b32 (\t?%r\d+), (16384|32768);",
        lambda m: f"mov.b32 {m[1]}, {int(m[2]) // 2};"),
    "drop a wait": drop(WAIT),
    "flip a parity": replace(
        r"\{ (\.reg \.pred complete;)(.*\], )(%r\d+);",
        r"{ \1 .reg .b32 other; xor.b32 other, \3, 1;\2other;"),
    "raise a count": replace(r"(mbarrier\.init.*), %r\d+;", r"\1, 9;"),
    "drop an init": drop(r"mbarrier\.init"),
    "drop bar.sync": drop(r"^\s*bar\.sync"),
    "drop bar.arrive": drop(r"^\s*bar\.arrive"),
    "drop wgmma.fence": drop(r"wgmma\.fence"),
    "drop wgmma.commit_group": drop(r"wgmma\.commit_group"),
    "drop wgmma.wait_group": drop(r"wgmma\.wait_group"),
    "wait for one group less": replace(
        r"(wgmma\.wait_group\S+ )(\d)", lambda m: m[1] + str(int(m[2]) + 1)),
    "drop a product": drop(r"^\s*wgmma\.mma_async"),
    "scale-d the other way": replace(
        r"setp\.ne\.b32 (keep|all), ([01]), 0",
        lambda m: f"setp.ne.b32 {m[1]}, {1 - int(m[2])}, 0"),
    "negate A": replace(r"(wgmma\.mma.*\b(?:keep|all), +)1,", r"\1-1,"),
    "transpose the other way": replace(
        r"(wgmma\.mma.*, *)([01]);$",
        lambda m: f"{m[1]}{1 - int(m[2])};"),
    "other swizzle": flip_descriptor(3 << 62),
    "other stride": flip_descriptor(1 << 34),
    "other start": flip_descriptor(2),
    "reserved bit": flip_descriptor(1 << 46),
    "other base offset": flip_descriptor(1 << 49),
    "drop fence.proxy.async": drop(r"fence\.proxy\.async"),
    "drop a bulk commit": drop(r"cp\.async\.bulk\.commit_group"),
    "drop a bulk wait": drop(r"cp\.async\.bulk\.wait_group"),
    "drop a copy": drop(r"^\s*cp\.async\.bulk\.tensor"),
    "other coordinate": replace(
        r"(cp\.async\.bulk\.tensor.*\{%r\d+, )(%r\d+), (%r\d+)",
        r"\1\3, \2"),
    "unaligned coordinate": replace(
        r"(cp\.async\.bulk\.tensor.*\{)%r\d+", r"\g<1>1"),
    "drop stmatrix": drop(r"^\s*stmatrix"),
    "transpose stmatrix": replace(r"(stmatrix\S*\.x4)", r"\1.trans"),
    "other shuffle": replace(r"(shfl\.sync\.bfly\S+ .*), ([12]), 31",
                             r"\1, 4, 31"),
    "narrower mask": replace(r"(shfl\.sync\.\S+ .*), -1;", r"\1, 0x7fffffff;"),
    "too many registers": replace(r"(setmaxnreg\.inc\S+ )\t?\d+", r"\g<1>256"),
    "drop setmaxnreg.dec": drop(r"setmaxnreg\.dec"),
    "halves exchanged": replace(
        r"(cvt\.rn\.bf16x2\.f32 \t?\S+,) (\S+), (\S+);", r"\1 \3, \2;"),
    # Of kernels with clusters of two.
    "drop barrier.cluster.arrive": drop(r"^\s*barrier\.cluster\.arrive"),
    "drop barrier.cluster.wait": drop(r"^\s*barrier\.cluster\.wait"),
    "arrive at one rank": replace(r"(mapa\.shared::cluster.*), %r\d+;",
                                  r"\1, 0;"),
    "copy to one rank": replace(r"(multicast::cluster.*), %rs\d+;", r"\1, 1;"),
}


def classify(result):
    if result is None:
        return "hang"
    if result.returncode == 0:
        return None
    if result.returncode == 1:
        return "wrong values"
    if result.returncode == 3:
        return "refused"
    match = re.search(r": error: ([a-z ]+): ", result.stderr)
    return match[1] if match else f"exit code {result.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--emu", default="jfa-emu")
    parser.add_argument("--limit", type=int, default=8,
                        help="mutants of one kind, evenly spread")
    parser.add_argument("kernel")
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    lines = split_products(open(options.kernel).read())
    total = killed = 0
    survivors = []
    print("| mutation | mutants | killed | by |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mutant.ptx")
        for name, mutate in MUTATIONS.items():
            mutants = list(mutate(lines))
            if not mutants:
                continue
            step = max(1, len(mutants) / options.limit)
            chosen = [mutants[int(i * step)]
                      for i in range(min(len(mutants), options.limit))]
            verdicts = collections.Counter()
            for i, mutant in chosen:
                with open(path, "w") as file:
                    file.write("\n".join(mutant) + "\n")
                try:
                    result = subprocess.run(
                        [options.emu, path] + options.arguments,
                        capture_output=True, text=True, timeout=120)
                except subprocess.TimeoutExpired:
                    result = None
                verdict = classify(result)
                if verdict:
                    verdicts[verdict] += 1
                else:
                    survivors.append(f"{name}: {i + 1}: {lines[i].strip()[:90]}")
            found = sum(verdicts.values())
            total += len(chosen)
            killed += found
            how = ", ".join(f"{v} {n}" for v, n in verdicts.most_common())
            print(f"| {name} | {len(chosen)} | {found} | {how} |", flush=True)
    print(f"| all | {total} | {killed} | |")
    for survivor in survivors:
        print("survived:", survivor)


if __name__ == "__main__":
    sys.exit(main())
