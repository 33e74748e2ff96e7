# ===- emulator.py - Runs cases in jfa-emu *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Runs cases in jfa-emu, with exact numerics."""

import json
import os
import struct
import subprocess

from case import ELEMENTS


class EmulatorError(RuntimeError):
    pass


def write_npy(path, array):
    descriptor, _ = ELEMENTS[array.element]
    shape = ", ".join(map(str, array.shape)) + ","
    header = f"{{'descr': '{descriptor}', 'fortran_order': False, " \
             f"'shape': ({shape}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    data = array.data
    if array.element == "bf16":
        data = b"".join(b"\0\0" + data[i:i + 2]
                        for i in range(0, len(data), 2))
    elif array.element == "f16":
        halves = struct.unpack(f"<{len(data) // 2}e", data)
        data = struct.pack(f"<{len(halves)}f", *halves)
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                   header.encode() + data)


def read_npy(path, element):
    with open(path, "rb") as file:
        content = file.read()
    length = struct.unpack_from("<H", content, 8)[0]
    data = content[10 + length:]
    if element == "bf16":
        return b"".join(data[i + 2:i + 4] for i in range(0, len(data), 4))
    if element == "f16":
        values = struct.unpack(f"<{len(data) // 4}f", data)
        return struct.pack(f"<{len(values)}e", *values)
    return data


def make_manifest(case):
    arguments, offset = [], 0
    for tensor_map in case.maps:
        array = case.get_array(tensor_map.name)
        rank = len(tensor_map.box)
        arguments.append({
            "name": array.name, "kind": "tensormap", "element": array.element,
            "offset": offset, "size": 128, "swizzle_bytes": tensor_map.swizzle,
            "tile": list(reversed(tensor_map.box)),
            "dims": [{"axis": len(array.shape) - 1 - d,
                      "box": tensor_map.box[d],
                      "extent": tensor_map.extents[d], "step": 1}
                     for d in range(rank)]})
        offset += 128
    for array in case.get_pointers():
        arguments.append({"name": array.name, "kind": "pointer",
                          "element": array.element, "offset": offset,
                          "size": 8})
        offset += 8
    return {"schema": 1, "kernels": [{
        "entry": "k", "block": [case.block, 1, 1],
        "cluster": [case.cluster, 1, 1], "shared_memory_bytes": 0,
        "registers": 0, "arguments": arguments}]}


def run(tool, folder, case, options=()):
    """The bytes of the case's outputs."""
    path = os.path.join(folder, case.name)
    with open(path + ".ptx", "w") as file:
        file.write(case.ptx)
    with open(path + ".json", "w") as file:
        json.dump(make_manifest(case), file)
    command = [tool, path + ".ptx", f"--manifest={path}.json",
               f"--grid={case.grid}", "--numerics=exact", *options]
    for array in case.arrays:
        write_npy(f"{path}.{array.name}.npy", array)
        command += ["--arg",
                    f"{array.name}={array.element}:{path}.{array.name}.npy"]
        if array.is_output:
            command += ["--out", f"{array.name}={path}.{array.name}.out.npy"]
    result = subprocess.run(command, capture_output=True, text=True,
                            timeout=300)
    if result.returncode != 0:
        raise EmulatorError(result.stderr.strip()[-1500:])
    return [read_npy(f"{path}.{a.name}.out.npy", a.element)
            for a in case.arrays if a.is_output]
