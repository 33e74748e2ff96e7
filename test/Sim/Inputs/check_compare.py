"""Makes a kernel that compares pairs of numbers, or checks its results."""

import math
import struct
import sys

INTEGERS = [0, 1, -1, 127, -128, 2**31 - 1, -2**31]
REALS = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan]
INTEGER = "eq ne slt sle sgt sge ult ule ugt uge".split()
REAL = "oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno".split()


def compare(name, x, y):
    return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y,
            "ge": x >= y}[name]


def compare_integers(name, x, y):
    if name[0] in "su":
        wrap = 2**32 if name[0] == "u" else 0
        x, y = (x % wrap, y % wrap) if wrap else (x, y)
        name = name[1:]
    return compare(name, x, y)


def compare_reals(name, x, y):
    unordered = math.isnan(x) or math.isnan(y)
    if name in ("ord", "uno"):
        return unordered == (name == "uno")
    if unordered:
        return name[0] == "u"
    return compare(name[1:], x, y)


def write_npy(path, kind, numbers):
    header = f"{{'descr': '<{kind}4', 'fortran_order': False, 'shape': (7,), }}"
    header += " " * (117 - len(header)) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                   header.encode() + struct.pack("<7" + kind, *numbers))


def make(integers, reals):
    write_npy(integers, "i", INTEGERS)
    write_npy(reals, "f", REALS)
    print("tlx.kernel @k(%i32s: !tlx.ptr<i32>, %f32s: !tlx.ptr<f32>, "
          "%y: !tlx.ptr<i32>) {\n  tlx.async_tasks {\n"
          "    tlx.async_task @k warps(1) {")
    at = 0
    for kind, numbers, names in (("i32", INTEGERS, INTEGER),
                                 ("f32", REALS, REAL)):
        # From memory, lest comparisons fold.
        for i in range(len(numbers)):
            print(f"      %n{kind}_{i} = arith.constant {i} : i32\n"
                  f"      %{kind}_{i} = tlx.global_load %{kind}s[%n{kind}_{i}] : "
                  f"!tlx.ptr<{kind}>, i32 -> {kind}")
        op = "cmpi" if kind == "i32" else "cmpf"
        for name in names:
            for i in range(len(numbers)):
                for j in range(len(numbers)):
                    print(f"      %b{at} = arith.{op} {name}, %{kind}_{i}, "
                          f"%{kind}_{j} : {kind}\n"
                          f"      %v{at} = arith.extui %b{at} : i1 to i32\n"
                          f"      %at{at} = arith.constant {at} : i32\n"
                          f"      tlx.global_store %v{at}, %y[%at{at}] : i32, "
                          "!tlx.ptr<i32>, i32")
                    at += 1
    print("    }\n  }\n}")


def check(path):
    with open(path, "rb") as file:
        data = file.read()
    begin = 10 + data[8] + 256 * data[9]
    found = list(struct.unpack(f"<{(len(data) - begin) // 4}i", data[begin:]))
    expected = [int(function(name, x, y))
                for numbers, names, function in (
                    (INTEGERS, INTEGER, compare_integers),
                    (REALS, REAL, compare_reals))
                for name in names for x in numbers for y in numbers]
    wrong = [i for i, pair in enumerate(zip(found, expected))
             if pair[0] != pair[1]]
    print(f"{len(expected)} comparisons of {len(found)}, wrong: {wrong}")


make(*sys.argv[2:]) if sys.argv[1] == "--make" else check(sys.argv[1])
