"""Runs block attention with and without NaN in some blocks: what it writes for the
others has to be the same.

    check_block_isolation.py KERNELS

KERNELS is lib/Kernels.
"""

import os
import random
import struct
import subprocess
import sys
import tempfile

DIM = 64
LENGTHS = (200, 70)
ROWS = sum(LENGTHS)
# Two neighbours within the first sequence, and the second sequence's last.
BAD = (range(64, 128), range(128, 192), range(264, 270))


def write_npy(path, kind, shape, values):
    header = f"{{'descr': '<{kind}', 'fortran_order': False, 'shape': {shape}}}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode())
        file.write(struct.pack(f"<{len(values)}{kind[0]}", *values))


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + struct.unpack_from("<H", data, 8)[0]
    return data[begin:]


def make_starts():
    """First blocks and rows, of blocks of 64 rows."""
    starts, blocks, row = [], 0, 0
    for length in LENGTHS:
        starts += [blocks, row]
        blocks += -(-length // 64)
        row += length
    return [*starts, blocks, row], blocks


def run(kernel, bindings, outputs, poisoned, folder):
    rng = random.Random(3)
    command = ["jfa-sim", kernel, "--grid=2", "-D", f"HEAD_DIM={DIM}", *bindings]
    inputs = {"q": ROWS, "k": ROWS, "v": ROWS, "do": ROWS, "sincos": ROWS}
    if "o" in outputs:
        del inputs["do"]
    for name, count in inputs.items():
        values = [rng.gauss(0, 1) for _ in range(count * DIM)]
        for block in BAD if poisoned else ():
            for row in block:
                values[row * DIM:(row + 1) * DIM] = [float("nan")] * DIM
        path = os.path.join(folder, f"{name}.npy")
        shape = (count, DIM) if name == "sincos" else (count, 1, DIM)
        write_npy(path, "f4", shape, values)
        command += ["--arg", f"{name}={path}"]
    starts, blocks = make_starts()
    path = os.path.join(folder, "starts.npy")
    write_npy(path, "i4", (len(starts),), starts)
    scalars = {"block_starts": path, "num_sequences": len(LENGTHS),
               "num_items": blocks, "heads": 1, "scale_log2": 0.18}
    if "o" not in outputs:
        scalars["scale"] = 0.125
    for name, value in scalars.items():
        command += ["--arg", f"{name}={value}"]
    for name in outputs:
        command += ["--arg", f"{name}=none:{ROWS}x1x{DIM}",
                    "--out", f"{name}={folder}/{name}.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"failed: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return [read_npy(f"{folder}/{name}.npy") for name in outputs]


def main():
    kernels, problems, compared = sys.argv[1], 0, 0
    bad = {row for block in BAD for row in block}
    for architecture in ("sm90", "sm100"):
        for name, outputs, options in (
                ("fwd", ("o",), ("0", "2")), ("bwd", ("dq", "dk", "dv"), ("0", "2"))):
            kernel = f"{kernels}/block_attention/{architecture}/{name}.mlir"
            for rotary in options:
                bindings = ["-D", f"ROTARY={rotary}"]
                if name == "bwd" and rotary != "0":
                    bindings += ["-D", "ROTATE_INPUTS=true"]
                with tempfile.TemporaryDirectory() as folder:
                    good, other = (run(kernel, bindings, outputs, p, folder)
                                   for p in (False, True))
                for output, x, y in zip(outputs, good, other):
                    size = len(x) // ROWS
                    for row in range(ROWS):
                        part = slice(row * size, (row + 1) * size)
                        same = x[part] == y[part]
                        compared += row not in bad
                        if same == (row in bad):
                            problems += 1
                            print(f"{architecture} {name} ROTARY={rotary}: row "
                                  f"{row} of {output} is "
                                  f"{'the same' if same else 'another'}")
    print(f"{compared} rows compared, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
