"""Runs the attention forward, or backward, for Hopper and for Blackwell on random
batches, and compares their results.

    compare_architectures.py KERNELS [--backward] [--runs N] [--seed N]

KERNELS is lib/Kernels. Both get the same inputs. They round the same values at the
same places, but sum in other orders, rescale at other times, and Blackwell's takes
some powers of two by polynomial; so they may differ by what the contract allows a
kernel to be off (docs/Attention.md), and their log-sum-exp by a thousandth.
"""

import argparse
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

ARCHITECTURES = ("sm90", "sm100")


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + struct.unpack_from("<H", data, 8)[0]
    if b"'<f4'" not in data[:begin]:
        sys.exit(f"expected {path} to hold f32, but got {data[:begin]!r}")
    return struct.unpack_from(f"<{(len(data) - begin) // 4}f", data, begin)


def make_batch(rng):
    """The options of a random batch; lengths lie around those of tiles."""
    lengths = [rng.choice((0, 1, rng.randint(1, 64), rng.randint(60, 70),
                           rng.randint(120, 136), rng.randint(1, 300)))
               for _ in range(rng.randint(1, 4))]
    dim, kv_heads = rng.choice((64, 128)), rng.choice((1, 2))
    options = ["-D", f"HEAD_DIM={dim}", "-D",
               f"ELEMENT={rng.choice(('bf16', 'f16'))}",
               f"--lengths={','.join(map(str, lengths))}",
               f"--heads={kv_heads * rng.choice((1, 2))}",
               f"--kv-heads={kv_heads}", f"--seed={rng.randrange(1 << 16)}"]
    if rng.random() < 0.5:
        options.append("--causal")
    if rng.random() < 0.6:
        options.append(f"--q-len={rng.choice((1, 64, 127, 200))}")
        if rng.random() < 0.5:
            options.append("--broadcast-q")
    return options


def get_command(kernels, architecture, options, backward):
    folder = f"{kernels}/attention"
    if not backward:
        return ["jfa-sim", f"{folder}/{architecture}/fwd.mlir", *options]
    # For D 64 Hopper's blocks of queries are as long as Blackwell's.
    tile = ["-D", "BLOCK_M=128"] if "HEAD_DIM=64" in options else []
    return ["jfa-sim", f"{folder}/{architecture}/bwd.mlir", *options, *tile,
            f"--pre={folder}/bwd_pre.mlir", f"--post={folder}/bwd_post.mlir"]


def run(kernels, architecture, options, backward, folder):
    """Of each result what it is, and how far it may be off."""
    names = ("dq", "dk", "dv") if backward else ("o", "lse")
    paths = {name: os.path.join(folder, f"{name}.npy") for name in names}
    command = get_command(kernels, architecture, options, backward)
    command += [f"--out={name}={path}" for name, path in paths.items()]
    done = subprocess.run(command, text=True, capture_output=True)
    allowed = dict(re.findall(r"^(\w+): error \S+, at most (\S+) allowed",
                              done.stdout, re.M))
    if done.returncode or set(allowed) != set(names):
        sys.exit(f"failed: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return {name: (read_npy(path), float(allowed[name]))
            for name, path in paths.items()}


def differ(a, b):
    """The largest difference; infinities and what is no number have to agree."""
    worst = 0.0
    for x, y in zip(a, b):
        if math.isfinite(x) and math.isfinite(y):
            worst = max(worst, abs(x - y))
        elif x != y and not (math.isnan(x) and math.isnan(y)):
            return math.inf
    return worst


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernels")
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    wrong, share = [], 0.0
    for _ in range(arguments.runs):
        options = make_batch(rng)
        with tempfile.TemporaryDirectory() as folder:
            one, other = [run(arguments.kernels, a, options, arguments.backward, folder)
                          for a in ARCHITECTURES]
        for name, (values, allowed) in one.items():
            if len(values) != len(other[name][0]):
                sys.exit(f"expected results of one shape for {' '.join(options)}")
            difference = differ(values, other[name][0])
            share = max(share, difference / allowed if allowed else 0.0)
            if difference > allowed:
                wrong.append(f"{' '.join(options)}: {name} differs by "
                             f"{difference:.2e}, where {allowed:.2e} is allowed")
    print("\n".join(wrong))
    print(f"{arguments.runs} batches, {len(wrong)} wrong, at most {share:.2f} of "
          "what is allowed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
