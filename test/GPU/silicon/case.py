# ===- case.py - Kernels with inputs and outputs *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""A small PTX kernel, what it gets and what it returns.

Everything is made from fixed seeds by Python's own generator, so that a GPU and
the emulator get the same bytes. Outputs are kept as checksums, one for each
chunk of CHUNK bytes.
"""

import random
import struct
import zlib
from dataclasses import dataclass, field

CHUNK = 1024
# NumPy's names and the emulator's element types.
ELEMENTS = {"i8": ("|i1", 1), "i16": ("<i2", 2), "i32": ("<i4", 4),
            "i64": ("<i8", 8), "f32": ("<f4", 4), "bf16": ("<f4", 2),
            "f16": ("<f4", 2)}

HEADER = ".version 8.6\n.target sm_90a\n.address_size 64\n"


@dataclass
class Array:
    """An array in global memory: `data` are its bytes, row-major."""

    name: str
    shape: tuple
    data: bytes
    element: str = "i32"
    is_output: bool = False


@dataclass
class TensorMap:
    """A tensor map of the array of that name, of which the kernel gets the map
    and not the address. Dimensions are innermost first."""

    name: str
    extents: tuple
    box: tuple
    swizzle: int = 0


@dataclass
class Case:
    name: str
    ptx: str
    arrays: list
    maps: list = field(default_factory=list)
    grid: int = 1
    block: int = 128
    cluster: int = 1
    # What a byte of the outputs is about, for messages.
    describe: object = None

    def get_array(self, name):
        return next(a for a in self.arrays if a.name == name)

    def get_pointers(self):
        """The arrays whose addresses are parameters, after the maps."""
        mapped = {m.name for m in self.maps}
        return [a for a in self.arrays if a.name not in mapped]


def zeros(name, words):
    return Array(name, (words,), bytes(4 * words), is_output=True)


def words(name, values, is_output=False):
    data = struct.pack(f"<{len(values)}I", *(v & 0xFFFFFFFF for v in values))
    return Array(name, (len(values),), data, is_output=is_output)


def make_random(name):
    """A generator of its own for each case."""
    return random.Random(zlib.crc32(name.encode()))


def make_kernel(parameters, body, block=128, cluster=1, declarations=""):
    """An entry `k` with registers %p, %h, %r, %f, %rd and %d."""
    lines = [HEADER, ".visible .entry k(",
             ",\n".join(f"  .param {p}" for p in parameters), ")\n"]
    if cluster > 1:
        lines.append(f".explicitcluster .reqnctapercluster {cluster}\n")
    lines.append(f".reqntid {block}\n{{\n")
    for kind, name in (("pred", "p"), ("b16", "h"), ("b32", "r"), ("b32", "f"),
                       ("b64", "rd"), ("b64", "d")):
        lines.append(f"  .reg .{kind} %{name}<300>;\n")
    for line in declarations.strip().splitlines():
        lines.append(f"  {line.strip()}\n")
    for line in body.strip().splitlines():
        lines.append(f"  {line.strip()}\n")
    lines.append("  ret;\n}\n")
    return "".join(lines)


def digest(outputs):
    """The checksums of a case's outputs, of all arrays in a row."""
    sums = bytearray()
    for data in outputs:
        for at in range(0, len(data), CHUNK):
            sums += struct.pack("<I", zlib.crc32(data[at:at + CHUNK]))
    return bytes(sums)
