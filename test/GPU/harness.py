# ===- harness.py - Tests on a GPU, one line each ----------*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Runs tests on a GPU. Every test prints one line, the last line counts them.
Without torch or a GPU everything is skipped, loudly, and the exit status is 0.
"""

import argparse
import itertools
import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "../../lib/Bindings/Python"))

try:
    import torch

    import jfa
    MISSING = None if torch.cuda.is_available() else "no GPU"
except ImportError as error:
    MISSING = str(error)

NAN = float("nan")
TESTS = []


def test(function):
    """Registers a generator of (name, check) pairs."""
    TESTS.append(function)
    return function


class Skipped(Exception):
    """Why a test says nothing."""


def with_empties(pairs):
    """The lengths with every fifth and the last sequence empty."""
    result = []
    for pair in pairs:
        if len(result) % 5 == 4:
            result.append((0, 0))
        result.append(pair)
    return [*result, (0, 0)]


def split(pairs):
    return [q for q, _ in pairs], [k for _, k in pairs]


def variants():
    for dim, causal, dtype in itertools.product(
            (64, 128), (False, True), (torch.bfloat16, torch.float16)):
        name = (f"D{dim} {'causal' if causal else 'full'} "
                f"{str(dtype).split('.')[1]}")
        yield name, dict(head_dim=dim, causal=causal, dtype=dtype)


def expect_refusal(action, argument, outputs=()):
    for x in outputs:
        x.fill_(NAN)
    try:
        action()
    except jfa.JFAError as refusal:
        assert refusal.argument == argument, \
            f"refused '{refusal.argument}' and not '{argument}': {refusal}"
        torch.cuda.synchronize()
        for x in outputs:
            assert torch.isnan(x).all(), "an output was touched"
        return str(refusal)
    raise AssertionError(f"expected '{argument}' to be refused")


def run_all(options):
    passed = failed = skipped = 0
    for function in TESTS:
        for name, body in function():
            if not any(text in name for text in options.filter.split(",")):
                continue
            try:
                note = body() or ""
                passed += 1
                print(f"PASS {name} {note}", flush=True)
            except Skipped as reason:
                skipped += 1
                print(f"SKIP {name}: {reason}", flush=True)
            except Exception as error:  # a test that fails must not end the run
                failed += 1
                print(f"FAIL {name}: {type(error).__name__}: {error}",
                      flush=True)
                if not isinstance(error, AssertionError):
                    traceback.print_exc()
                # After an error of the GPU nothing works any more.
                if "CUDA error" in str(error) or "driver" in str(error):
                    print("ABORTED: the GPU's context is lost")
                    return passed, failed, skipped
    return passed, failed, skipped


def main(what, description):
    """Runs the registered tests, which are of `what`; returns an exit status."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--kernels", action="append", default=[],
                        help="a bundle to use first")
    parser.add_argument("--filter", default="", metavar="TEXT[,TEXT...]",
                        help="only tests whose name has one of these")
    options = parser.parse_args()
    if MISSING:
        print(f"SKIPPED: {what} was not tested: {MISSING}")
        print("0 passed, 0 failed, all skipped")
        return 0
    # References are in fp32, not in its shortened form.
    torch.backends.cuda.matmul.allow_tf32 = False
    for bundle in options.kernels:
        jfa.load_kernels(bundle)
    passed, failed, skipped = run_all(options)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0
