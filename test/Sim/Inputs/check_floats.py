"""Compares results of floats.mlir with the nearest numbers of each type."""

import bisect
import struct
import sys


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + data[8] + 256 * data[9]
    return struct.unpack(f"<{(len(data) - begin) // 4}f", data[begin:])


def get_numbers(mantissa_bits, bias, count):
    """The finite numbers without a sign, in the order of their bits."""
    numbers = []
    for bits in range(count):
        exponent, mantissa = bits >> mantissa_bits, bits % (1 << mantissa_bits)
        scale = 2.0 ** (max(exponent, 1) - bias - mantissa_bits)
        numbers.append((mantissa + ((1 << mantissa_bits) if exponent else 0)) * scale)
    return numbers


def get_nearest(numbers, value):
    """The nearest number; of two, the one with even bits."""
    at = bisect.bisect_left(numbers, value)
    near = [i for i in (at - 1, at) if 0 <= i < len(numbers)]
    return numbers[min(near, key=lambda i: (abs(numbers[i] - value), i % 2))]


def check(numbers, step, found, what):
    expected = [get_nearest(numbers, step * i) for i in range(512)]
    assert max(expected) == numbers[-1] < step * 511
    if list(found) != expected:
        sys.exit(f"{what}: expected {expected}, but got {found}")
    print(f"512 numbers of {what}")


e4m3, e5m2 = get_numbers(3, 7, 0x7f), get_numbers(2, 15, 0x7c)
assert e4m3[-1] == 448 and e5m2[-1] == 57344
y, z, h = (read_npy(path) for path in sys.argv[1:4])
assert y == h
check(e4m3, 1.5, y, "f8E4M3FN through shared and global memory")
check(e5m2, 130.0, z, "f8E5M2 in registers")
