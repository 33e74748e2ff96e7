"""Feeds mutated kernels to a tool: whatever the input, no crash and no hang.

    fuzz.py <jfa-opt or jfa-sim> [--seed N] [--runs N] [--keep DIR] <kernel>...

Each run takes a kernel and changes a few of its tokens. jfa-opt compiles it to
PTX, parses it, or runs single passes on it; jfa-sim verifies it or runs it, under
some schedule. A run fails if the tool is ended by a signal, does not end, or fails
without an error. The seed is printed, and decides everything.
"""

import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys

TOKEN = re.compile(r"//[^\n]*|\"[^\"]*\"|[%@!#^]?[\w.$]+|->|\s+|.", re.S)

# What a token may become besides another token of the same file.
WORDS = (
    "0 1 -1 3 7 64 128 1024 4096 65536 2147483647 -2147483648 4294967296 "
    "9223372036854775807 99999999999999999999 i1 i8 i32 i64 f16 bf16 f32 f64 "
    "index tensor<64xf32> tensor<?xf32> tensor<64x?xbf16> tensor<f32> "
    "!tlx.ptr<f32> !tlx.mbarrier<[1]> !tlx.memdesc<[64,64],bf16> transposed "
    "ragged producer true false max min add mod floordiv ceildiv ( ) { } [ ] "
    "< > , : = + - *"
).split()

# Of jfa-opt.
MODES = (
    ["--arch=sm_90a", "--emit=ptx"],
    ["--arch=sm_90a", "--emit=ptx"],
    ["--arch=sm_90a", "-DHEAD_DIM=64", "-DCAUSAL=true", "--emit=ptx"],
    ["--verify-roundtrip"],
    ["--canonicalize", "--cse"],
    ["--convert-tlx-to-nvvm"],
    ["--pass-pipeline=builtin.module(tlx.kernel(tlx-assign-layouts,"
     "tlx-allocate-memory),convert-tlx-to-nvvm)"],
)

# Of jfa-sim: for attention kernels, and for others.
STEPS = "--max-steps=200000"
LENGTHS = ["--lengths=0,1,70", "--heads=1", "--grid=1", STEPS]
ATTENTION_MODES = (
    ["--verify", "--strict"],
    ["--order", *LENGTHS],
    ["--order", "--schedule=random:1", *LENGTHS],
    ["-DHEAD_DIM=64", "--schedule=late", *LENGTHS],
    ["-DHEAD_DIM=64", "--causal", "--schedule=pct:3", *LENGTHS],
)
ARGUMENTS = ["--arg", "x=random:256x64", "--arg", "y=none:512", "--arg", "n=4", STEPS]
KERNEL_MODES = (
    ["--verify"],
    ["--schedule=late", *ARGUMENTS],
    ["--schedule=all:20", *ARGUMENTS],
    ["--trace=" + os.devnull, *ARGUMENTS],
)


def find_modes(tool, text):
    if "jfa-sim" not in os.path.basename(tool):
        return [mode + ["-o", os.devnull] for mode in MODES]
    return ATTENTION_MODES if "@attention" in text else KERNEL_MODES


def mutate(rng, text):
    tokens = [t for t in TOKEN.findall(text) if not t.startswith("//")]
    places = [i for i, t in enumerate(tokens) if not t.isspace()]
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.choice(places)
        kind = rng.randrange(7)
        if kind == 0:
            tokens[at] = ""
        elif kind == 1:
            tokens[at] = tokens[rng.choice(places)]
        elif kind == 2:
            tokens[at] = rng.choice(WORDS)
        elif kind == 3:
            tokens[at] += " " + tokens[rng.choice(places)]
        elif kind == 4:
            other = rng.choice(places)
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind == 5:
            delete_line(tokens, at)
        elif re.fullmatch(r"-?\d+", tokens[at]):
            tokens[at] = str(int(tokens[at]) * rng.choice((-1, 0, 2, 1 << 20)))
        else:
            similar = [i for i in places if tokens[i][:1] == tokens[at][:1]]
            tokens[at] = tokens[rng.choice(similar)]
    return "".join(tokens)


def delete_line(tokens, at):
    begin = at
    while begin > 0 and "\n" not in tokens[begin - 1]:
        begin -= 1
    end = at
    while end < len(tokens) and "\n" not in tokens[end]:
        end += 1
    for i in range(begin, end):
        tokens[i] = ""


def run(tool, text, mode):
    """What went wrong, or None."""
    command = [tool, "-", *mode]
    try:
        result = subprocess.run(
            command, input=text.encode(), capture_output=True, timeout=60
        )
    except subprocess.TimeoutExpired:
        return "did not end within 60 s"
    if result.returncode < 0 or result.returncode > 100:
        return f"ended with {result.returncode}"
    if result.returncode and b"error" not in result.stderr + result.stdout:
        return f"ended with {result.returncode} without an error"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("kernels", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="where failing inputs are left")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}, {arguments.runs} runs")
    rng = random.Random(arguments.seed)
    sources = [pathlib.Path(k).read_text() for k in arguments.kernels]
    cases = []
    for _ in range(arguments.runs):
        source = rng.choice(sources)
        modes = find_modes(arguments.tool, source)
        cases.append((mutate(rng, source), rng.choice(modes)))
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = pool.map(lambda case: run(arguments.tool, *case), cases)
        for number, ((text, mode), result) in enumerate(zip(cases, results)):
            if not result:
                continue
            failures += 1
            print(f"run {number} {' '.join(mode)}: {result}", flush=True)
            if arguments.keep:
                folder = pathlib.Path(arguments.keep)
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"{arguments.seed}-{number}.mlir").write_text(text)
    print(f"{failures} failures")
    return bool(failures)


sys.exit(main())
