# ===- block_autograd.py - Block attention that torch can differentiate -*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Block attention that torch can differentiate, and that torch.compile takes as
it is: two operators, `jfa::block_attention_forward` and
`jfa::block_attention_backward`, as autograd.py has them for attention."""

import math

import torch

from .block import (BlockAttentionBackwardPlan, BlockAttentionForwardPlan,
                    check_rotary)
from .autograd import _clear_outside, _usable
from ._tensors import refuse


def _forward(q, k, v, offsets, sincos, scale, rotary):
    plan = BlockAttentionForwardPlan(q, k, v, offsets, scale=scale,
                                     rotary=rotary)
    o = plan(q, k, v, sincos=sincos)
    _clear_outside(o, offsets)
    return o


def _backward(dout, q, k, v, offsets, sincos, scale, rotary):
    dout = _usable(dout)
    plan = BlockAttentionBackwardPlan(q, k, v, offsets, scale=scale, dout=dout,
                                      rotary=rotary, rotate_inputs=True)
    gradients = plan(q, k, v, dout, sincos)
    for x in gradients:
        _clear_outside(x, offsets)
    return gradients


def _save(ctx, inputs, output):
    q, k, v, offsets, sincos, scale, rotary = inputs
    ctx.save_for_backward(q, k, v, offsets, sincos)
    ctx.options = scale, rotary


def _differentiate(ctx, backward, dout):
    gradients = backward(dout, *ctx.saved_tensors, *ctx.options)
    return (*gradients, None, None, None, None)


def _register():
    """Registers the operators; returns the one that is differentiable."""
    from typing import Optional, Tuple

    from torch import Tensor

    @torch.library.custom_op("jfa::block_attention_forward", mutates_args=())
    def forward(q: Tensor, k: Tensor, v: Tensor, offsets: Tensor,
                sincos: Optional[Tensor], scale: float,
                rotary: Optional[str]) -> Tensor:
        return _forward(q, k, v, offsets, sincos, scale, rotary)

    @forward.register_fake
    def _(q, k, v, offsets, sincos, scale, rotary):
        return q.new_empty(q.shape)

    @torch.library.custom_op("jfa::block_attention_backward", mutates_args=())
    def backward(dout: Tensor, q: Tensor, k: Tensor, v: Tensor, offsets: Tensor,
                 sincos: Optional[Tensor], scale: float,
                 rotary: Optional[str]) -> Tuple[Tensor, Tensor, Tensor]:
        return _backward(dout, q, k, v, offsets, sincos, scale, rotary)

    @backward.register_fake
    def _(dout, q, k, v, offsets, sincos, scale, rotary):
        return tuple(x.new_empty(x.shape) for x in (q, k, v))

    forward.register_autograd(
        lambda ctx, dout: _differentiate(ctx, backward, dout),
        setup_context=_save)
    return forward


class _Function(torch.autograd.Function):
    """The same for a torch without torch.library.custom_op (before 2.4)."""

    @staticmethod
    def forward(ctx, *inputs):
        output = _forward(*inputs)
        _save(ctx, inputs, output)
        return output

    @staticmethod
    def backward(ctx, dout):
        return _differentiate(ctx, _backward, dout)


_operator = (_register() if hasattr(torch.library, "custom_op")
             else _Function.apply)


def block_attention(q, k, v, offsets, *, scale=None, rotary=None, sincos=None):
    """softmax(scale * Q K^T) V within blocks of 64 rows of each sequence,
    differentiable in `q`, `k` and `v`.

    The shapes are those of BlockAttentionForwardPlan; rows of no sequence are 0,
    in the output and in gradients. With `rotary` ("qk" or "qkv") those tensors are
    rotated by `sincos` first. Both kernels do that themselves, so that nothing
    but the tensors given here is kept for the backward.
    """
    check_rotary(rotary)
    if (rotary is None) != (sincos is None):
        refuse("sincos", f"to be given just where something is rotated, but got "
                f"{'None' if sincos is None else 'a tensor'} with "
                f"rotary={rotary!r}")
    if scale is None:
        scale = 1 / math.sqrt(q.shape[-1])
    return _operator(q, k, v, offsets, sincos, float(scale), rotary)
