#!/usr/bin/env python3
# ===- lengths.py - Attention of all lengths of its contract -*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Runs an attention kernel on every pair of lengths that its results are judged by, in
batches in which every fifth sequence and the last are empty: full and causal; dense,
jagged and with one query for all; two heads for one of keys; the schedules in turns.

    lengths.py KERNEL [--largest N] [--jfa-sim PATH] -- ARGUMENTS

ARGUMENTS are those of all runs. Lists the runs that are not right.
"""

import argparse
import itertools
import subprocess
import sys

# Queries and keys.
PAIRS = ((1, 1), (64, 128), (128, 192), (239, 1), (799, 3), (113, 203), (128, 217),
         (108, 256), (1023, 1024), (1024, 1023), (2048, 2048), (4224, 4224))
MODES = {"dense": ["-D", "JAGGED=false"], "jagged": [], "broadcast": ["--broadcast-q"]}
SCHEDULES = ("eager", "late", "random:7", "pct:3")
# Of sequences of more keys one is enough.
LONG = 1024


def get_lengths(keys, mode):
    if mode == "dense":
        return [keys] if keys > LONG else [keys] * 3
    return [keys, 0] if keys > LONG else [keys] * 4 + [0, keys, 0]


def make_runs(largest):
    """The arguments of each run."""
    schedules = itertools.cycle(SCHEDULES)
    for (queries, keys), mode, causal in itertools.product(PAIRS, MODES, (False, True)):
        if max(queries, keys) > largest:
            continue
        lengths = ",".join(map(str, get_lengths(keys, mode)))
        yield [*MODES[mode], f"--lengths={lengths}", f"--q-len={queries}", "--heads=2",
               "--kv-heads=1", f"--schedule={next(schedules)}",
               *(["--causal"] if causal else [])]
    # Each mode and mask under each schedule.
    for mode, causal, schedule in itertools.product(MODES, (False, True), SCHEDULES):
        yield [*MODES[mode], "--lengths=217,217", "--q-len=128", "--heads=2",
               f"--schedule={schedule}", *(["--causal"] if causal else [])]


def main():
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kernel")
    parser.add_argument("--largest", type=int, default=PAIRS[-1][0])
    parser.add_argument("--jfa-sim", default="jfa-sim")
    options = parser.parse_args(sys.argv[1:at])
    runs, wrong = 0, 0
    for arguments in make_runs(options.largest):
        result = subprocess.run(
            [options.jfa_sim, options.kernel, *sys.argv[at + 1:], *arguments],
            capture_output=True, text=True, check=False)
        runs += 1
        if result.returncode or "no violation" not in result.stdout:
            wrong += 1
            print(" ".join(arguments), result.returncode, result.stdout[-500:],
                  result.stderr[-500:], flush=True)
    print(f"{runs} runs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
