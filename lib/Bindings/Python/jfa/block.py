# ===- block.py - Block attention on torch tensors -------------*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Block attention on torch tensors."""

import ctypes as C

import torch

from . import _library
from ._tensors import (ELEMENT_TYPES, JAGGED, Plan, check_tensor, get_strides,
                       refuse)

ROTARY = {None: 0, "qk": 1, "qkv": 2}


def check_rotary(rotary):
    """The C interface's number of what is rotated."""
    if rotary not in ROTARY:
        refuse("rotary", f"to be None, 'qk' or 'qkv', but got {rotary!r}")
    return ROTARY[rotary]


class _BlockPlan(Plan):
    """What both plans share."""

    def _describe(self, q, k, v, offsets, scale):
        """The forward's description; `self._host_offsets` keeps its array."""
        if q.dtype not in ELEMENT_TYPES:
            refuse("q", f"to have dtype bfloat16 or float16, but got {q.dtype}")
        self.device = q.device
        if self.device.type != "cuda":
            refuse("q", f"to be on a GPU, but got {self.device}")
        if scale == 0:
            refuse("scale", "to be positive, but got 0")
        self.dtype = q.dtype
        self.shape = list(q.shape)
        self._strides = {}
        d = _library.BlockAttentionForwardDescription()
        d.struct_size = C.sizeof(d)
        d.element_type = ELEMENT_TYPES[self.dtype]
        d.scale = scale or 0.0
        check_tensor("q", q, self.dtype, self.device, [None] * 3)
        check_tensor("k", k, self.dtype, self.device,
                      [q.shape[0], None, q.shape[2]])
        check_tensor("v", v, self.dtype, self.device, list(k.shape))
        _, d.num_query_heads, d.head_dim = q.shape
        d.num_kv_heads = k.shape[1]
        self._host_offsets = self._host(offsets)
        d.offsets = self._host_offsets.data_ptr()
        d.batch_size = self._host_offsets.shape[0] - 1
        self._set_strides(d, q=q, k=k, v=v)
        return d

    def _set_strides(self, description, **tensors):
        for name, tensor in tensors.items():
            row, head = get_strides(name, tensor, JAGGED)
            setattr(description, f"{name}_row_stride", row)
            setattr(description, f"{name}_head_stride", head)
            self._strides[name] = tensor.stride()

    def _create(self, description):
        super()._create(description)
        self.workspace = self.make_workspace()

    def _host(self, offsets):
        """A copy on the host."""
        if offsets.dtype != torch.int32:
            refuse("offsets", f"to have dtype torch.int32, but got "
                    f"{offsets.dtype}")
        if offsets.dim() != 1 or offsets.shape[0] < 1:
            refuse("offsets", f"to have the shape [batch size + 1], but got "
                    f"{list(offsets.shape)}")
        host = offsets.cpu().contiguous()
        if int(host[-1]) > self.shape[0]:
            refuse("offsets", f"to end within the {self.shape[0]} rows of 'q', "
                    f"but got {int(host[-1])}")
        return host

    def facts(self):
        """What the plan launches, as a dictionary."""
        facts = _library.KernelFacts(
            struct_size=C.sizeof(_library.KernelFacts))
        self._call("PlanGetFacts", self._plan, C.byref(facts))
        return facts.to_dict()

    def _set_angles(self, buffers, sincos):
        """Checks `[T, D]` and keeps it as long as what is launched."""
        if sincos is None:
            return
        check_tensor("sincos", sincos, self.dtype, self.device,
                     [self.shape[0], self.shape[2]])
        if not sincos.is_contiguous():
            refuse("sincos", "to be contiguous, but it is not")
        buffers.sincos = sincos.data_ptr()

    def _bind(self, buffers, tensors, workspace, sincos=None):
        """Checks tensors `[T, H, D]` against the plan; the result launches."""
        buffers.struct_size = C.sizeof(buffers)
        self._set_angles(buffers, sincos)
        packed = torch.empty(self.shape, device="meta").stride()
        for name, tensor in tensors.items():
            check_tensor(name, tensor, self.dtype, self.device, self.shape)
            wanted = self._strides.get(name, packed)
            if tensor.stride() != wanted:
                refuse(name, f"to have the plan's strides {list(wanted)}, but "
                        f"got {list(tensor.stride())}")
            setattr(buffers, name, tensor.data_ptr())
        workspace = self.workspace if workspace is None else workspace
        # The tensors live as long as the function that uses their addresses.
        return self._launcher(buffers, workspace, (tensors, workspace, sincos))


class BlockAttentionForwardPlan(_BlockPlan):
    """The forward for one shape: made once, then called any number of times.

    `q`, `k`, `v` are tensors `[T, H, D]` (or stand-ins on the same device) of the
    shapes and strides the plan is for, `offsets` an int32 tensor `[B + 1]`; one on
    a GPU is copied to the host, which waits for it. `o`, if given, sets the
    strides of the output. With `rotary` ("qk" or "qkv") the kernel rotates those
    tensors first (docs/Attention.md).
    """

    kind = "BlockAttentionForward"

    def __init__(self, q, k, v, offsets, *, scale=None, o=None, rotary=None):
        kind = check_rotary(rotary)
        description = self._describe(q, k, v, offsets, scale)
        description.rotary = kind
        if o is not None:
            check_tensor("o", o, self.dtype, self.device, self.shape)
            self._set_strides(description, o=o)
        self._create(description)

    def bind(self, q, k, v, o, sincos=None, workspace=None):
        """Checks tensors against the plan; the result launches on the current
        stream each time it is called. `sincos` is `[T, D]` if anything is
        rotated."""
        return self._bind(_library.BlockAttentionForwardBuffers(),
                          {"q": q, "k": k, "v": v, "o": o}, workspace, sincos)

    def __call__(self, q, k, v, o=None, sincos=None):
        """Launches on the current stream; returns `o`."""
        if o is None:
            o = torch.empty(self.shape, dtype=self.dtype, device=self.device)
        self.bind(q, k, v, o, sincos)()
        return o


class BlockAttentionBackwardPlan(_BlockPlan):
    """The backward for one shape, as BlockAttentionForwardPlan.

    Gradients are packed; `dout` has the strides of the one given here, or is
    packed too. With `rotary` ("qk" or "qkv") these tensors have been rotated
    (docs/Attention.md), or are rotated by the kernel if `rotate_inputs` is true,
    and the gradients are those of the ones before.
    """

    kind = "BlockAttentionBackward"

    def __init__(self, q, k, v, offsets, *, scale=None, dout=None, rotary=None,
                 rotate_inputs=False):
        kind = check_rotary(rotary)
        d = _library.BlockAttentionBackwardDescription()
        d.struct_size = C.sizeof(d)
        d.forward = self._describe(q, k, v, offsets, scale)
        if dout is not None:
            check_tensor("dout", dout, self.dtype, self.device, self.shape)
            self._set_strides(d, dout=dout)
        (d.forward if rotate_inputs else d).rotary = kind
        self._create(d)

    def make_outputs(self):
        """New, packed tensors for `dq`, `dk` and `dv`."""
        return tuple(
            torch.empty(self.shape, dtype=self.dtype, device=self.device)
            for _ in range(3))

    def bind(self, q, k, v, dout, dq, dk, dv, sincos=None, workspace=None):
        """Checks tensors against the plan; the result launches on the current
        stream each time it is called. `sincos` is `[T, D]` if anything is
        rotated."""
        return self._bind(_library.BlockAttentionBackwardBuffers(),
                          {"q": q, "k": k, "v": v, "dout": dout, "dq": dq,
                           "dk": dk, "dv": dv}, workspace, sincos)

    def __call__(self, q, k, v, dout, sincos=None):
        """Launches on the current stream; returns `dq`, `dk` and `dv`."""
        gradients = self.make_outputs()
        self.bind(q, k, v, dout, *gradients, sincos=sincos)()
        return gradients


def block_attention_forward(q, k, v, offsets, *, scale=None, rotary=None,
                            sincos=None):
    """softmax(scale * Q K^T) V within blocks of 64 rows of each sequence.

    The shapes are those of BlockAttentionForwardPlan, which is better used
    directly where one shape runs often. Rows of no sequence are not written.
    """
    plan = BlockAttentionForwardPlan(q, k, v, offsets, scale=scale,
                                     rotary=rotary)
    return plan(q, k, v, sincos=sincos)
