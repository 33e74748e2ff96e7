#!/usr/bin/env python3
# ===- parameters.py - Kernels under all parameters ---------*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Verifies the protocol of kernels under the legal values of their parameters.

What a kernel declares legal has to be right, whether it is shipped or not: each
choice of values has to pass `jfa-sim --verify --strict`, or to be refused with an
error that is no finding, such as a constraint or too much shared memory. Types of
elements, limits of plans and registers are left out: the first changes no order, and
the others are not the protocol's. Of ranges of more than eight values, the first,
the default and the last are taken.

    parameters.py KERNEL...              all choices
    parameters.py --count=N KERNEL...    N of them for each kernel, at random
"""

import argparse
import concurrent.futures
import itertools
import os
import random
import re
import subprocess
import sys

LEFT_OUT = r"ELEMENT|M(IN|AX)_\w+|POLYNOMIAL"
FEWEST_REGISTERS = 24


def find_values(default, legal):
    """The values to try of a parameter, from what --list-params says is legal."""
    if legal == "true or false":
        return ["false", "true"]
    if match := re.match(r"(\d+) to (\d+) step (\d+)", legal):
        first, last, step = map(int, match.groups())
        values = list(range(first, last + 1, step))
        if len(values) > 8:
            values = sorted({first, int(default), last})
        return [str(value) for value in values]
    return legal.strip("[]").split(", ")


def find_parameters(options, kernel):
    """Names and values, and the bindings of what is left out."""
    text = subprocess.run([options.jfa_opt, kernel, "--list-params"],
                          capture_output=True, text=True, check=True).stdout
    parameters, fixed = {}, []
    for name, default, legal in re.findall(r"(\w+) = (\w+), legal: (.*)", text):
        if name.endswith("_REGISTERS"):
            fixed.append(f"{name}={FEWEST_REGISTERS}")
        elif not re.fullmatch(LEFT_OUT, name):
            parameters[name] = find_values(default, legal)
    return parameters, fixed


def verify(options, kernel, bindings):
    """The exit code and the first error."""
    command = [options.jfa_sim, kernel, "--verify", "--strict"]
    for binding in bindings:
        command += ["-D", binding]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120,
                            check=False)
    match = re.search(r"error: (.*)", result.stderr)
    return result.returncode, match[1] if match else ""


def check(options, kernel):
    """How many choices of the kernel's parameters are not right."""
    parameters, fixed = find_parameters(options, kernel)
    choices = [[f"{name}={value}" for name, value in zip(parameters, values)]
               for values in itertools.product(*parameters.values())]
    if options.count and options.count < len(choices):
        choices = random.Random(options.seed).sample(choices, options.count)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(
            lambda choice: verify(options, kernel, choice + fixed), choices))
    wrong = [(choice, error) for choice, (code, error) in zip(choices, results)
             if code not in (0, 3)]
    for choice, error in wrong:
        print(f"{' '.join(choice)}: {error}")
    passed = sum(code == 0 for code, _ in results)
    print(f"{'/'.join(kernel.split('/')[-3:])}: {len(choices)} choices, {passed} "
          f"verified, {len(choices) - passed - len(wrong)} refused, {len(wrong)} wrong",
          flush=True)
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kernels", nargs="+")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jfa-sim", default="jfa-sim")
    parser.add_argument("--jfa-opt", default="jfa-opt")
    options = parser.parse_args()
    wrong = sum(check(options, kernel) for kernel in options.kernels)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
