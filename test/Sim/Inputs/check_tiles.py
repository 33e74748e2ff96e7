"""Says which results of tiles.mlir are right, or makes its input."""

import struct
import sys

LIMITS = [0, -3, 1, 15, 16, 17, 100, 8]


def make(path):
    header = "{'descr': '<i4', 'fortran_order': False, 'shape': (8,), }"
    header += " " * (117 - len(header)) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode() + struct.pack("<8i", *LIMITS))


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + data[8] + 256 * data[9]
    return struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])


def check(what, found, expected):
    print(f"{what}: " + ("right" if list(found) == expected else
                         f"expected {expected}, but got {list(found)}"))


def main(path):
    y = read_npy(path)
    places = [(row, column) for row in range(8) for column in range(16)]
    value = lambda row, column: 16.0 * row + column
    below = [column < LIMITS[row] for row, column in places]
    check("prefix_mask dim 1", y[:128],
          [value(*at) if mask else 0 for at, mask in zip(places, below)])
    check("prefix_mask dim 0", y[128:256],
          [value(*at) if at[0] < at[1] else 0 for at in places])
    check("partial_reduce", y[256:288],
          [sum(value(row, c) for c in range(16) if c // 2 % 4 == group)
           for row in range(8) for group in range(4)])
    check("reduce dim 0", y[384:400], [value(7, c) for c in range(16)])
    check("broadcast", y[512:640],
          [sum(value(row, c) for c in range(16)) for row, _ in places])
    check("convert_layout", y[640:704], [float(i) for i in range(64)])
    check("masked global_load", y[768:896],
          [value(*at) if mask else -1 for at, mask in zip(places, below)])
    check("local_slice", y[896:1024], [value(row + 8, c) for row, c in places])
    check("transposed local_store", y[1024:1152],
          [8.0 * column + row for row, column in places])
    check("transposed local_load", y[1152:],
          [value(row, column) for column in range(16) for row in range(8)])


if __name__ == "__main__":
    if sys.argv[1] == "--make":
        make(sys.argv[2])
    else:
        main(sys.argv[1])
