"""Compares what jfa-sim and jfa-emu have left of the same problem.

    compare_outputs.py make A.npy B.npy       small integers, for exact sums
    compare_outputs.py exact X.npy Y.npy      bit by bit
    compare_outputs.py close X.npy Y.npy BITS SHARE
                                              numbers of BITS bits, of which a
                                              SHARE in percent are the same, and
                                              all others one unit apart
"""

import math
import random
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        content = file.read()
    start = 10 + struct.unpack_from("<H", content, 8)[0]
    return [x for (x,) in struct.iter_unpack("<f", content[start:])]


def write(path, rows, columns, values):
    header = ("{'descr': '<f4', 'fortran_order': False, 'shape': "
              f"({rows}, {columns}), }}")
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                   header.encode() + struct.pack(f"<{len(values)}f", *values))


def make(first, second):
    rng = random.Random(5)
    for path, rows, columns in ((first, 128, 192), (second, 192, 64)):
        write(path, rows, columns,
              [rng.randrange(-2, 3) for _ in range(rows * columns)])


def get_unit(value, bits):
    """What a last bit counts."""
    return math.ldexp(1, math.frexp(value)[1] - bits) if value else 0


def compare(first, second, bits, share):
    x, y = read(first), read(second)
    if len(x) != len(y) or not x:
        return f"{len(x)} numbers and {len(y)}"
    same, worst = 0, 0
    for a, b in zip(x, y):
        # What nobody writes is no number in both.
        if a == b or (math.isnan(a) and math.isnan(b)):
            same += 1
            continue
        # Near zero, of what has been subtracted.
        unit = max(get_unit(max(abs(a), abs(b)), bits), 2.0 ** (-3 - bits))
        worst = max(worst, abs(a - b) / unit)
    if worst > 1:
        return f"numbers are {worst} units apart"
    if 100 * same < share * len(x):
        return f"{same} of {len(x)} numbers are the same"
    return ""


def main():
    action, first, second = sys.argv[1:4]
    if action == "make":
        make(first, second)
        return 0
    bits, share = map(int, sys.argv[4:6]) if action == "close" else (24, 100)
    wrong = compare(first, second, bits, share)
    print(wrong or ("the same" if action == "exact" else "close"))
    return wrong != ""


if __name__ == "__main__":
    sys.exit(main())
