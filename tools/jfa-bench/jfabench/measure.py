# ===- measure.py - Measures variants on a GPU --------------*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Measures the variants of jfabench.variants on a GPU."""

import os

import torch

import jfa

from .levers import WORK_ORDERS
from .sides import FORWARD
from .timing import gpu_timer, measure
from .variants import share_out


def prepare(inputs, variants, folder, ours):
    """Calls of those variants that run and are right, and why others are not."""
    calls, refused, allowed = {}, {}, None
    for variant in variants:
        if variant.refusal:
            continue
        try:
            # A plan keeps its kernel; the bundle loaded last has precedence.
            jfa.load_kernels(os.path.join(folder, variant.bundle))
            call, to_rows = ours(inputs, WORK_ORDERS[variant.work_order])
            error = inputs.error(to_rows(call()))
            torch.cuda.synchronize()
        except Exception as failure:
            text = str(failure) or repr(failure)
            refused[variant.name] = text.split("\n")[0][:160]
            continue
        if allowed is None:
            allowed = 2 * error + 1e-3
        if not error <= allowed:
            refused[variant.name] = (f"expected an error of at most "
                                     f"{allowed:.1e}, but got {error:.1e}")
            continue
        calls[variant.name] = call
    return calls, refused


def measure_sets(sets, shapes, folder, rounds, rep, side=FORWARD):
    """Timings by line, shape and variant, and refusals by line and variant."""
    on_gpu = side.load()
    timer = gpu_timer(rep)
    timings, refused = {}, {}
    own_shapes = share_out(sets, shapes)
    for each in sets:
        timings[str(each.line)], refused[str(each.line)] = {}, {}
        for shape in own_shapes[each.line]:
            calls, wrong = prepare(on_gpu.Inputs(shape), each.variants, folder,
                                   on_gpu.ours)
            refused[str(each.line)].update(wrong)
            timings[str(each.line)][shape.name] = measure(calls, rounds, timer)
    return {"timings": timings, "refused": refused}
