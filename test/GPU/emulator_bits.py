#!/usr/bin/env python3
# ===- emulator_bits.py - The emulator against a GPU, bit by bit *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Compares jfa-emu's exact results with those of a GPU.

    emulator_bits.py dump FOLDER --build build     on any machine
    emulator_bits.py compare FOLDER                where there is a GPU

The first writes inputs and the emulator's outputs; the second runs the shipped
kernels on the same inputs and counts the bits that differ.
"""

import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
KERNEL = os.path.join(HERE, "../../lib/Kernels/attention/sm90/fwd.mlir")
LENGTHS = [0, 1, 77, 128, 129, 256, 300]
HEADS, KV_HEADS = 4, 2


def cases():
    for dim in (64, 128):
        for causal in (False, True):
            yield f"d{dim}_{'causal' if causal else 'full'}", dim, causal


def dump(folder, build):
    os.makedirs(folder, exist_ok=True)
    tool = os.path.join(build, "bin")
    for name, dim, causal in cases():
        path = os.path.join(folder, name)
        common = [f"{tool}/jfa-opt", KERNEL, "--arch=sm_90a",
                  f"-DHEAD_DIM={dim}", f"-DCAUSAL={str(causal).lower()}"]
        for stage in ("ptx", "cubin"):
            subprocess.run(common + [f"--emit={stage}", "-o",
                                     f"{path}.{stage}"], check=True)
        command = [f"{tool}/jfa-emu", f"{path}.ptx", f"--manifest={path}.json",
                   "--numerics=exact", f"--heads={HEADS}",
                   f"--kv-heads={KV_HEADS}",
                   "--lengths=" + ",".join(map(str, LENGTHS))]
        for array in ("q", "k", "v", "o", "lse"):
            command += ["--out", f"{array}={path}.{array}.npy"]
        subprocess.run(command, check=True)
    with open(os.path.join(folder, "cases.json"), "w") as file:
        json.dump({"lengths": LENGTHS, "heads": HEADS}, file)


def load(torch, path):
    import numpy
    return torch.from_numpy(numpy.load(path)).cuda()


def compare(folder):
    try:
        import torch
        sys.path.insert(0, os.path.join(HERE, "../../lib/Bindings/Python"))
        import jfa
    except ImportError as error:
        print(f"SKIPPED: {error}")
        return 0
    if not torch.cuda.is_available():
        print("SKIPPED: no GPU")
        return 0
    starts = [sum(LENGTHS[:i]) for i in range(len(LENGTHS) + 1)]
    offsets = torch.tensor(starts, dtype=torch.int32, device="cuda")
    total = 0
    for name, dim, causal in cases():
        path = os.path.join(folder, name)
        q, k, v = (load(torch, f"{path}.{x}.npy").to(torch.bfloat16)
                   for x in "qkv")
        plan = jfa.AttentionForwardPlan(q, k, v, offsets, offsets,
                                        causal=causal, scale=dim**-0.5)
        o, lse = plan.make_outputs()
        plan.bind(q, k, v, o, lse, offsets, offsets)()
        torch.cuda.synchronize()
        for array, got in (("o", o.float()), ("lse", lse)):
            want = load(torch, f"{path}.{array}.npy").reshape(got.shape)
            differ = got.view(torch.int32) != want.view(torch.int32)
            count = int(differ.sum())
            total += count
            worst = float((got - want)[differ].abs().max()) if count else 0.0
            print(f"{name} {array}: {count} of {got.numel()} differ, "
                  f"by at most {worst:.3g}")
    print(f"{total} differences")
    return total != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("dump", "compare"))
    parser.add_argument("folder")
    parser.add_argument("--build", default="build")
    options = parser.parse_args()
    if options.action == "dump":
        return dump(options.folder, options.build)
    return compare(options.folder)


if __name__ == "__main__":
    sys.exit(main())
