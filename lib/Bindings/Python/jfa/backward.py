# ===- backward.py - The attention backward on torch tensors *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""The attention backward on torch tensors."""

import ctypes as C

import torch

from . import _library
from ._tensors import Plan, Problem


class AttentionBackwardPlan(Plan):
    """The backward for one shape: made once, then called any number of times.

    Shapes and offsets are those of AttentionForwardPlan. `o` and `dout` have the
    shape of its output, `dq`, `dk` and `dv` those of `q`, `k` and `v`; where
    one is given, its strides are the plan's, otherwise it is packed.
    `deterministic` asks for the same bits of `dq` on every run.

    An execution writes to its workspace: ones that may overlap need a workspace
    each.
    """

    kind = "AttentionBackward"

    def __init__(self, q, k, v, q_offsets=None, k_offsets=None, *,
                 causal=False, scale=None, deterministic=False, o=None,
                 dout=None, dq=None, dk=None, dv=None, work_order=0):
        p = self._problem = Problem(q, k, v, q_offsets, k_offsets, causal,
                                    scale, work_order)
        self.device, self.dtype = p.device, p.dtype
        d = _library.AttentionBackwardDescription()
        d.struct_size = C.sizeof(d)
        d.deterministic = bool(deterministic)
        if o is not None:
            p.check("o", o, p.o_shape)
            p.set_strides(p.description, "o", o)
        self._shapes = {"dout": p.o_shape, "dq": p.q_shape, "dk": p.k_shape,
                        "dv": p.k_shape}
        for name, tensor in {"dout": dout, "dq": dq, "dk": dk,
                             "dv": dv}.items():
            if tensor is not None:
                p.check(name, tensor, self._shapes[name])
                p.set_strides(d, name, tensor)
        d.forward = p.description
        self._create(d)
        self._workspace = None

    @property
    def workspace(self):
        """The workspace that is used if none is given; made when it is needed."""
        if self._workspace is None:
            self._workspace = self.make_workspace()
        return self._workspace

    def facts(self):
        """What the plan launches, one dictionary for each kernel, in order."""
        count = C.c_int32()
        self._call("PlanGetLaunchCount", self._plan, C.byref(count))
        result = []
        for launch in range(count.value):
            facts = _library.KernelFacts(
                struct_size=C.sizeof(_library.KernelFacts))
            self._call("PlanGetFacts", self._plan, launch, C.byref(facts))
            result.append(facts.to_dict())
        return result

    def make_outputs(self):
        """New, packed tensors for `dq`, `dk` and `dv`."""
        return tuple(
            torch.empty(self._shapes[name], dtype=self.dtype,
                        device=self.device) for name in ("dq", "dk", "dv"))

    def bind(self, q, k, v, o, lse, dout, dq, dk, dv, q_offsets=None,
             k_offsets=None, workspace=None):
        """Checks tensors against the plan; the result launches on the current
        stream each time it is called."""
        p = self._problem
        buffers = _library.AttentionBackwardBuffers()
        buffers.struct_size = C.sizeof(buffers)
        p.fill_forward(buffers.forward, q, k, v, o, lse, q_offsets, k_offsets)
        gradients = {"dout": dout, "dq": dq, "dk": dk, "dv": dv}
        for name, tensor in gradients.items():
            p.check(name, tensor, self._shapes[name])
            setattr(buffers, name, tensor.data_ptr())
        p.check_strides(gradients)
        workspace = self.workspace if workspace is None else workspace
        return self._launcher(buffers, workspace,
                              (self, q, k, v, o, lse, dout, dq, dk, dv,
                               q_offsets, k_offsets))

    def __call__(self, q, k, v, o, lse, dout, q_offsets=None, k_offsets=None,
                 workspace=None):
        """Launches on the current stream; returns `dq`, `dk` and `dv`. Rows of
        no sequence are left as they are."""
        outputs = self.make_outputs()
        self.bind(q, k, v, o, lse, dout, *outputs, q_offsets, k_offsets,
                  workspace)()
        return outputs


def attention_backward(q, k, v, o, lse, dout, q_offsets=None, k_offsets=None,
                       *, causal=False, scale=None, deterministic=False):
    """The gradients of attention_forward(), given that of its output, `dout`."""
    plan = AttentionBackwardPlan(q, k, v, q_offsets, k_offsets, causal=causal,
                                 scale=scale, deterministic=deterministic, o=o,
                                 dout=dout)
    return plan(q, k, v, o, lse, dout, q_offsets, k_offsets)
