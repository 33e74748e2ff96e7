# ===- autograd.py - Attention that torch can differentiate *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Attention that torch can differentiate, and that torch.compile takes as it is.

Two operators, `jfa::attention_forward` and `jfa::attention_backward`, are
registered with torch: to torch.compile they are opaque, and it knows the shapes
of their results.
"""

import math

import torch

from .forward import AttentionForwardPlan
from .backward import AttentionBackwardPlan


def _shape_o(q, q_offsets, k_offsets):
    """The shape of the output, and how many rows its log-sum-exp has."""
    shape = list(q.shape)
    if k_offsets is None:
        return shape, shape[0] * shape[1]
    if q_offsets is None:
        shape[0] = shape[0] * (k_offsets.shape[0] - 1)
    return shape, shape[0]


def _clear_outside(tensor, offsets):
    """Zeroes rows of no sequence, which kernels leave as they are."""
    if offsets is not None:
        begin, end = offsets[[0, -1]].tolist()
        tensor[:begin] = 0
        tensor[end:] = 0


def _usable(gradient):
    """A gradient in a layout that the kernels take; it may be an expanded
    number, or a view of anything."""
    shape = gradient.shape
    strides = [s for s, n in zip(gradient.stride()[:-1], shape) if n > 1]
    good = (gradient.numel() == 0 or
            gradient.stride(-1) == 1 and gradient.data_ptr() % 16 == 0 and
            all(s >= shape[-1] and s % 8 == 0 for s in strides) and
            (gradient.dim() == 3 or
             gradient.stride(0) == shape[1] * gradient.stride(1)))
    return gradient if good else gradient.contiguous()


def _forward(q, k, v, q_offsets, k_offsets, causal, scale):
    plan = AttentionForwardPlan(q, k, v, q_offsets, k_offsets, causal=causal,
                                scale=scale)
    o, lse = plan(q, k, v, q_offsets=q_offsets, k_offsets=k_offsets)
    _clear_outside(o, q_offsets)
    return o, lse


def _backward(dout, q, k, v, o, lse, q_offsets, k_offsets, causal, scale,
              deterministic):
    dout = _usable(dout)
    plan = AttentionBackwardPlan(q, k, v, q_offsets, k_offsets, causal=causal,
                                 scale=scale, deterministic=deterministic, o=o,
                                 dout=dout)
    dq, dk, dv = plan(q, k, v, o, lse, dout, q_offsets, k_offsets)
    _clear_outside(dq, q_offsets)
    _clear_outside(dk, k_offsets)
    _clear_outside(dv, k_offsets)
    return dq, dk, dv


def _save(ctx, inputs, output):
    q, k, v, q_offsets, k_offsets, causal, scale, deterministic = inputs
    o, lse = output
    ctx.save_for_backward(q, k, v, o, lse, q_offsets, k_offsets)
    ctx.options = causal, scale, deterministic


def _differentiate(ctx, backward, dout):
    q, k, v, o, lse, q_offsets, k_offsets = ctx.saved_tensors
    if dout is None:
        return (None,) * 8
    gradients = backward(dout, q, k, v, o, lse, q_offsets, k_offsets,
                         *ctx.options)
    return (*gradients, None, None, None, None, None)


def _register():
    """Registers the operators; returns the one that is differentiable."""
    from typing import Optional, Tuple

    from torch import Tensor

    @torch.library.custom_op("jfa::attention_forward", mutates_args=())
    def forward(q: Tensor, k: Tensor, v: Tensor, q_offsets: Optional[Tensor],
                k_offsets: Optional[Tensor], causal: bool, scale: float,
                deterministic: bool) -> Tuple[Tensor, Tensor]:
        return _forward(q, k, v, q_offsets, k_offsets, causal, scale)

    @forward.register_fake
    def _(q, k, v, q_offsets, k_offsets, causal, scale, deterministic):
        shape, rows = _shape_o(q, q_offsets, k_offsets)
        return (q.new_empty(shape),
                q.new_empty((q.shape[-2], rows), dtype=torch.float32))

    @torch.library.custom_op("jfa::attention_backward", mutates_args=())
    def backward(dout: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor,
                 lse: Tensor, q_offsets: Optional[Tensor],
                 k_offsets: Optional[Tensor], causal: bool, scale: float,
                 deterministic: bool) -> Tuple[Tensor, Tensor, Tensor]:
        return _backward(dout, q, k, v, o, lse, q_offsets, k_offsets, causal,
                         scale, deterministic)

    @backward.register_fake
    def _(dout, q, k, v, o, lse, q_offsets, k_offsets, causal, scale,
          deterministic):
        return tuple(x.new_empty(x.shape) for x in (q, k, v))

    forward.register_autograd(
        lambda ctx, dout, dlse: _differentiate(ctx, backward, dout),
        setup_context=_save)
    return forward


class _Function(torch.autograd.Function):
    """The same for a torch without torch.library.custom_op (before 2.4)."""

    @staticmethod
    def forward(ctx, *inputs):
        output = _forward(*inputs[:-1])
        _save(ctx, inputs, output)
        ctx.mark_non_differentiable(output[1])
        return output

    @staticmethod
    def backward(ctx, dout, dlse):
        return _differentiate(ctx, _backward, dout)


_operator = (_register() if hasattr(torch.library, "custom_op")
             else _Function.apply)


def attention(q, k, v, q_offsets=None, k_offsets=None, *, causal=False,
              scale=None, deterministic=None, return_lse=False):
    """softmax(scale * Q K^T) V, differentiable in `q`, `k` and `v`.

    Shapes and offsets are those of AttentionForwardPlan; rows of no sequence
    are 0, in the output and in gradients. `deterministic` asks for the same bits
    of `q`'s gradient on every run, as `torch.use_deterministic_algorithms` does
    where it is not given; all else always has them. `return_lse` adds the
    log-sum-exp `[Hq, rows of o]`, which is not differentiated.
    """
    if deterministic is None:
        deterministic = torch.are_deterministic_algorithms_enabled()
    if scale is None:
        scale = 1 / math.sqrt(q.shape[-1])
    o, lse = _operator(q, k, v, q_offsets, k_offsets, causal, float(scale),
                       deterministic)
    return (o, lse.detach()) if return_lse else o
