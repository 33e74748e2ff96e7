# ===- forward.py - The attention forward on torch tensors *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""The attention forward on torch tensors."""

import ctypes as C

import torch

from . import _library
from ._tensors import Plan, Problem


class AttentionForwardPlan(Plan):
    """The forward for one shape: made once, then called any number of times.

    `q`, `k`, `v` are tensors (or stand-ins on the same device) of the shapes
    and strides the plan is for:

    * dense: `[B, S, H, D]`, without offsets;
    * jagged: `[T, H, D]`, with `q_offsets` and `k_offsets`;
    * broadcast query: `q` is `[Lq, H, D]`, with `k_offsets` only.

    Offsets are int32 tensors `[B + 1]`; ones on a GPU are copied to the host,
    which waits for it. `o`, if given, sets the strides of the output. A
    `work_order` other than 0 is for measurements: a jfaWorkOrder.
    """

    kind = "AttentionForward"

    def __init__(self, q, k, v, q_offsets=None, k_offsets=None, *,
                 causal=False, scale=None, o=None, work_order=0):
        p = self._problem = Problem(q, k, v, q_offsets, k_offsets, causal,
                                    scale, work_order)
        self.device, self.dtype = p.device, p.dtype
        if o is not None:
            p.check("o", o, p.o_shape)
            p.set_strides(p.description, "o", o)
        self._create(p.description)
        self.workspace = self.make_workspace()

    def facts(self):
        """What the plan launches, as a dictionary."""
        facts = _library.KernelFacts(
            struct_size=C.sizeof(_library.KernelFacts))
        self._call("PlanGetFacts", self._plan, C.byref(facts))
        return facts.to_dict()

    def make_outputs(self):
        """New, packed tensors for `o` and `lse`."""
        p = self._problem
        o = torch.empty(p.o_shape, dtype=self.dtype, device=self.device)
        lse = torch.empty(p.q_shape[-2], p.lse_rows, dtype=torch.float32,
                          device=self.device)
        return o, lse

    def bind(self, q, k, v, o, lse, q_offsets=None, k_offsets=None,
             workspace=None):
        """Checks tensors against the plan; the result launches on the current
        stream each time it is called."""
        buffers = _library.AttentionForwardBuffers()
        self._problem.fill_forward(buffers, q, k, v, o, lse, q_offsets,
                                   k_offsets)
        workspace = self.workspace if workspace is None else workspace
        return self._launcher(buffers, workspace,
                              (self, q, k, v, o, lse, q_offsets, k_offsets))

    def __call__(self, q, k, v, o=None, lse=None, q_offsets=None,
                 k_offsets=None):
        """Launches on the current stream; returns `o` and `lse`."""
        new_o, new_lse = (None, None)
        if o is None or lse is None:
            new_o, new_lse = self.make_outputs()
        o = new_o if o is None else o
        lse = new_lse if lse is None else lse
        self.bind(q, k, v, o, lse, q_offsets, k_offsets)()
        return o, lse


def attention_forward(q, k, v, q_offsets=None, k_offsets=None, *,
                      causal=False, scale=None):
    """softmax(scale * Q K^T) V and its log-sum-exp `[Hq, rows of o]`.

    The shapes are those of AttentionForwardPlan, which is better used directly
    where one shape runs often. Offsets are on the tensors' GPU.
    """
    plan = AttentionForwardPlan(q, k, v, q_offsets, k_offsets, causal=causal,
                                scale=scale)
    return plan(q, k, v, q_offsets=q_offsets, k_offsets=k_offsets)
