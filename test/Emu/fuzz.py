"""Feeds mutated PTX to jfa-emu: whatever the input, no crash and no hang.

    fuzz.py <jfa-emu> [--seed N] [--runs N] <kernel>... [-- argument...]

A run fails if jfa-emu is ended by a signal or does not end. The seed is printed,
and decides everything.
"""

import argparse
import random
import re
import subprocess
import sys

TOKEN = re.compile(r"//[^\n]*|\"[^\"]*\"|[%@!$.]?[\w.:$]+|\s+|.", re.S)

# What a token may become besides another token of the same file.
WORDS = (
    "0 1 -1 3 7 64 128 1024 65536 2147483647 4294967295 4294967296 "
    "18446744073709551615 99999999999999999999 0f7f800000 0fzz 0d0 1.5 1e9 _ "
    ".reg .b32 .pred .u8 .s64 .f32 .bf16x2 .v4 .shared .global .entry .param "
    ".align %r<99999999> %tid.x %laneid bra ret trap bar.sync st.shared.b32 "
    "ld.global.b64 mbarrier.try_wait.parity.shared.b64 wgmma.fence.sync.aligned "
    "shfl.sync.idx.b32 { } [ ] ( ) < > , ; : | ! @ + -"
).split()


def mutate(rng, text):
    tokens = [t for t in TOKEN.findall(text) if not t.startswith("//")]
    places = [i for i, t in enumerate(tokens) if not t.isspace()]
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at, other = rng.choice(places), rng.choice(places)
        kind = rng.randrange(6)
        if kind == 0:
            tokens[at] = ""
        elif kind == 1:
            tokens[at] = tokens[other]
        elif kind == 2:
            tokens[at] = rng.choice(WORDS)
        elif kind == 3:
            tokens[at] += " " + tokens[other]
        elif kind == 4:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        else:
            cut = rng.randrange(len(tokens[at]) + 1)
            tokens[at] = tokens[at][:cut] + rng.choice(WORDS) + tokens[at][cut:]
    return "".join(tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("emu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--scratch", required=True)
    parser.add_argument("kernels", nargs="+")
    argv = sys.argv[1:]
    rest = argv[argv.index("--") + 1:] if "--" in argv else []
    options = parser.parse_args(argv[:len(argv) - len(rest) - bool(rest)])
    texts = [open(path).read() for path in options.kernels]
    rng = random.Random(options.seed)
    failures = 0
    for number in range(options.runs):
        with open(options.scratch, "w") as file:
            file.write(mutate(rng, rng.choice(texts)))
        schedule = rng.choice(("eager", "late", "random:1"))
        command = [options.emu, options.scratch, f"--schedule={schedule}",
                   "--max-instructions=300000"] + rest
        try:
            code = subprocess.run(command, capture_output=True,
                                  timeout=60).returncode
        except subprocess.TimeoutExpired:
            code = "a hang"
        if code not in (0, 1, 2, 3):
            failures += 1
            keep = f"{options.scratch}.{number}"
            with open(options.scratch) as from_, open(keep, "w") as to:
                to.write(from_.read())
            print(f"run {number}: {code}: {keep}")
    print(f"seed {options.seed}, {options.runs} runs")
    print(f"{failures} failures")


if __name__ == "__main__":
    main()
