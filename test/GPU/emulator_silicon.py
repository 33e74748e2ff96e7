#!/usr/bin/env python3
# ===- emulator_silicon.py - Single instructions, bit by bit *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Compares small kernels on jfa-emu with the same kernels on a GPU.

    emulator_silicon.py run               on a GPU: compares with the file
    emulator_silicon.py run --record      ... and writes it anew
    emulator_silicon.py run --full DIR    ... and keeps all outputs
    emulator_silicon.py check             in jfa-emu: compares with the file
    emulator_silicon.py check --full DIR  ... with the outputs of a GPU, value
                                          by value
    emulator_silicon.py check --shard 0/2  ... half of the cases
    emulator_silicon.py assemble          all kernels with ptxas

The file, test/Emu/Inputs/silicon.npz, has the checksums of what an H200
returned, one for each 1024 bytes.
"""

import argparse
import os
import struct
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "silicon"))
DATA = os.path.join(HERE, "../Emu/Inputs/silicon.npz")

import device  # noqa: E402
import emulator  # noqa: E402
import registry  # noqa: E402
from case import CHUNK, digest  # noqa: E402


def write_data(path, sums):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in sorted(sums.items()):
            header = "{'descr': '<u4', 'fortran_order': False, " \
                     f"'shape': ({len(data) // 4},), }}"
            header += " " * (-(len(header) + 11) % 64) + "\n"
            entry = zipfile.ZipInfo(name + ".npy")
            file.writestr(entry, b"\x93NUMPY\x01\x00" +
                          struct.pack("<H", len(header)) + header.encode() +
                          data, zipfile.ZIP_DEFLATED)


def read_data(path):
    with zipfile.ZipFile(path) as file:
        contents = {name[:-4]: file.read(name) for name in file.namelist()}
    return {name: data[10 + struct.unpack_from("<H", data, 8)[0]:]
            for name, data in contents.items()}


def compare_sums(case, got, want):
    """How many chunks differ, and where the first of them is."""
    if len(got) != len(want):
        return 1, f"{len(got) // 4} checksums, not {len(want) // 4}"
    wrong = [i for i in range(0, len(got), 4) if got[i:i + 4] != want[i:i + 4]]
    if not wrong:
        return 0, ""
    at = wrong[0] // 4 * CHUNK
    where = case.describe(at) if case.describe else f"byte {at}"
    return len(wrong), f"{len(wrong)} of {len(got) // 4} chunks differ, the " \
                       f"first at {where}"


def show_values(case, outputs, folder, limit):
    """Every word that differs from what the GPU returned."""
    with open(os.path.join(folder, case.name + ".bin"), "rb") as file:
        want = file.read()
    got = b"".join(outputs)
    last, shown, total = None, 0, 0
    for at in range(0, len(got), 4):
        if got[at:at + 4] == want[at:at + 4]:
            continue
        total += 1
        where = case.describe(at) if case.describe else f"byte {at}"
        kind = where.split(",")[0]
        shown = shown + 1 if kind == last else 0
        last = kind
        if shown < limit:
            print(f"  {where} (byte {at}): "
                  f"{int.from_bytes(got[at:at + 4], 'little'):08x}, GPU "
                  f"{int.from_bytes(want[at:at + 4], 'little'):08x}")
    if total:
        print(f"{case.name}: {total} words differ")


def select(options):
    part, parts = map(int, options.shard.split("/"))
    cases = registry.get_cases()[part::parts]
    return [c for c in cases if c.name.startswith(options.only)]


def read_cubin(options, case):
    """What `assemble` has left, which saves the driver's time."""
    path = os.path.join(options.scratch or "", case.name + ".ptx.cubin")
    if not options.scratch or not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def run_device(options):
    try:
        gpu = device.Device()
    except device.DeviceError as error:
        print(f"SKIPPED: no GPU ({error})")
        return 0
    known = {} if options.record else read_data(DATA)
    sums, failures = {}, 0
    for case in select(options):
        try:
            outputs = gpu.run(case, read_cubin(options, case))
        except device.DeviceError as error:
            print(f"{case.name}: {error}", flush=True)
            failures += 1
            if "NOT_FOUND" not in str(error) and "assembling" not in str(error):
                break
            continue
        sums[case.name] = digest(outputs)
        if options.full:
            os.makedirs(options.full, exist_ok=True)
            path = os.path.join(options.full, case.name + ".bin")
            with open(path, "wb") as file:
                file.write(b"".join(outputs))
        if not options.record:
            count, text = compare_sums(case, sums[case.name],
                                       known.get(case.name, b""))
            failures += count != 0
            if count:
                print(f"{case.name}: {text}")
    if options.record:
        write_data(options.data, sums)
    print(f"{gpu.name}, driver API {gpu.version}: {len(sums)} cases, "
          f"{sum(map(len, sums.values())) // 4} checksums, "
          f"{failures} failures")
    return failures != 0


def run_emulator(options):
    known = {} if options.full else read_data(options.data)
    cases, failures, chunks = select(options), 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        for case in cases:
            try:
                outputs = emulator.run(options.emulator,
                                       options.scratch or scratch, case)
            except emulator.EmulatorError as error:
                print(f"{case.name}: {error}")
                failures += 1
                continue
            if options.full:
                show_values(case, outputs, options.full, options.limit)
                continue
            sums = digest(outputs)
            chunks += len(sums) // 4
            count, text = compare_sums(case, sums, known.get(case.name, b""))
            failures += count != 0
            if count:
                print(f"{case.name}: {text}")
    names = {c.name for c in registry.get_cases()}
    missing = known.keys() - names
    for name in sorted(missing):
        print(f"{name}: no such case")
    print(f"{len(cases)} cases, {chunks} checksums, "
          f"{failures + len(missing)} failures")
    return failures + len(missing) != 0


def assemble(options):
    failures, cases = 0, select(options)
    with tempfile.TemporaryDirectory() as scratch:
        for case in cases:
            path = os.path.join(options.scratch or scratch, case.name + ".ptx")
            with open(path, "w") as file:
                file.write(case.ptx)
            result = subprocess.run([options.ptxas, "-arch=sm_90a", path, "-o",
                                     path + ".cubin"], capture_output=True,
                                    text=True)
            if result.returncode:
                failures += 1
                print(f"{case.name}: {result.stderr[:options.limit * 300]}")
    print(f"{len(cases)} kernels, {failures} failures")
    return failures != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("run", "check", "assemble"))
    parser.add_argument("--only", default="")
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--full")
    parser.add_argument("--limit", type=int, default=4)
    parser.add_argument("--data", default=DATA)
    parser.add_argument("--scratch")
    parser.add_argument("--emulator", default="jfa-emu")
    parser.add_argument("--ptxas", default=os.environ.get("JFA_PTXAS", "ptxas"))
    options = parser.parse_args()
    actions = {"run": run_device, "check": run_emulator, "assemble": assemble}
    return actions[options.action](options)


if __name__ == "__main__":
    sys.exit(main())
