"""Runs hand-written kernels of tcgen05 under schedules, with exact results.

With --prepare it only writes their inputs and manifests, for others to run.
"""

import json
import os
import random
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))


def encode_bf16(matrix):
    values = [x for row in matrix for x in row]
    bits = [struct.unpack("<I", struct.pack("<f", x))[0] >> 16
            for x in values]
    return struct.pack(f"<{len(bits)}H", *bits)


def write_matrix(path, matrix):
    header = ("{'descr': '<i2', 'fortran_order': False, 'shape': "
              f"({len(matrix)}, {len(matrix[0])}), }}")
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                   header.encode() + encode_bf16(matrix))


def multiply(a, b):
    """A times the transpose of B."""
    return [[sum(x * y for x, y in zip(row, column)) for column in b]
            for row in a]


def transpose(a):
    return [list(column) for column in zip(*a)]


def make_random(rng, rows, columns, most):
    return [[rng.randrange(-most, most + 1) for _ in range(columns)]
            for _ in range(rows)]


def make_gemm(rng, rows):
    a, b = make_random(rng, rows, 128, 6), make_random(rng, 64, 128, 6)
    return {"a": a, "b": b}, "c", multiply(a, b)


def make_two_products(rng):
    q, k = make_random(rng, 128, 64, 1), make_random(rng, 128, 64, 1)
    v = make_random(rng, 128, 64, 6)
    # Scores are small: rounding them to bf16 changes nothing.
    return ({"q": q, "k": k, "v": v}, "o",
            multiply(multiply(q, k), transpose(v)))


# Of each kernel: the inputs, the output and its value; threads, CTAs; boxes.
KERNELS = {
    "gemm": (lambda rng: make_gemm(rng, 256), 192, 1, {"a": 128, "b": 64}),
    "gemm_pair": (lambda rng: make_gemm(rng, 512), 192, 2,
                  {"a": 128, "b": 32}),
    "two_products": (make_two_products, 160, 1,
                     {"q": 128, "k": 128, "v": 128}),
}


def make_manifest(name, threads, ctas, boxes, output):
    arguments = [
        {"name": operand, "kind": "tensormap", "element": "i16",
         "offset": 128 * i, "size": 128, "swizzle_bytes": 128,
         "tile": [rows, 64],
         "dims": [{"axis": 1, "box": 64, "extent": "axis", "step": 1},
                  {"axis": 0, "box": rows, "extent": "axis", "step": 1}]}
        for i, (operand, rows) in enumerate(boxes.items())]
    arguments.append({"name": output, "kind": "pointer", "element": "f32",
                      "offset": 128 * len(boxes), "size": 8})
    return {"schema": 1, "kernels": [
        {"entry": name, "block": [threads, 1, 1], "cluster": [ctas, 1, 1],
         "shared_memory_bytes": 0, "arguments": arguments}]}


def prepare(name, scratch):
    """Writes what a kernel needs; its arguments, and its result."""
    make, threads, ctas, boxes = KERNELS[name]
    inputs, output, want = make(random.Random(1))
    arguments = [f"--manifest={scratch}.{name}.json", f"--grid={ctas}"]
    with open(f"{scratch}.{name}.json", "w") as file:
        json.dump(make_manifest(name, threads, ctas, boxes, output), file)
    for operand, matrix in inputs.items():
        write_matrix(f"{scratch}.{name}.{operand}.npy", matrix)
        arguments += ["--arg",
                      f"{operand}=i16:{scratch}.{name}.{operand}.npy"]
    arguments += ["--arg", f"{output}=f32:none:{len(want)}x{len(want[0])}"]
    return arguments, output, want


def main():
    tool, scratch = sys.argv[1:3]
    count = failures = 0
    for name in KERNELS:
        arguments, output, want = prepare(name, scratch)
        if "--prepare" in sys.argv:
            continue
        for schedule in ("eager", "late", "random:1", "random:2", "pct:3"):
            for more in (["--fences=strict"], ["--numerics=exact"]):
                result = subprocess.run(
                    [tool, f"{HERE}/{name}.test.ptx", f"--schedule={schedule}",
                     "--print", output] + arguments + more,
                    capture_output=True, text=True, timeout=300)
                count += 1
                line = [x for x in result.stdout.splitlines()
                        if x.startswith(output + ":")]
                got = [float(x) for x in line[0].split()[1:]] if line else []
                if result.returncode != 0 or \
                        got != [x for row in want for x in row]:
                    failures += 1
                    print(f"{name} under {schedule}, {more[0]}: "
                          f"{result.returncode} {result.stderr}")
    print(f"{count} runs, {failures} failures")


if __name__ == "__main__":
    main()
