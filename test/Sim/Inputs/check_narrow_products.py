"""Checks c = a b^T, of numbers that 8 bits can be, against sums in fp64.

check_narrow_products.py A B C ALLOWED: .npy files, and the error that is allowed of
each sum relative to the sum of its products' magnitudes.
"""

import struct
import sys


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + data[8] + 256 * data[9]
    return struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])


def count_bits(value):
    """Of the significand, between the first and the last that is set."""
    numerator = abs(value).as_integer_ratio()[0]
    return len(bin(numerator).rstrip("0")) - 2


a, b, c = (read_npy(path) for path in sys.argv[1:4])
allowed = float(sys.argv[4])
assert max(map(count_bits, a)) == 4 and max(map(count_bits, b)) == 3
depth = 256
for i, found in enumerate(c):
    row, column = divmod(i, len(b) // depth)
    products = [x * y for x, y in zip(a[row * depth:(row + 1) * depth],
                                      b[column * depth:(column + 1) * depth])]
    if abs(found - sum(products)) > allowed * sum(map(abs, products)):
        sys.exit(f"expected {sum(products)} in row {row}, column {column}, "
                 f"but got {found}")
print(f"{len(c)} sums of products of f8E4M3FN and f8E5M2")
