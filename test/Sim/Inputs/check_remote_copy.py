"""Checks the sums of remote_copy.mlir.

    check_remote_copy.py Y.npy N

CTA r sends 100 r + i in round i, so that each has the sum of what the other one sends.
"""

import struct
import sys


def main():
    path, count = sys.argv[1], int(sys.argv[2])
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + struct.unpack_from("<H", data, 8)[0]
    values = struct.unpack_from("<4096f", data, begin)
    wrong = sum(value != sum(100 * (1 - at // 2048) + i for i in range(count))
                for at, value in enumerate(values))
    print(f"{len(values)} elements, wrong: {wrong}")


main()
