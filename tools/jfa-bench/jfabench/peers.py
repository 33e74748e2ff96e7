# ===- peers.py - What else a PyTorch user would run --------*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Our kernel and its peers. Each peer is a function of the inputs that returns a
call to time and a function that makes `[rows, H, D]` of the call's result; it
raises Unsuitable where it does not apply. A call may say what its output
depends on, as `leaves`; by default these are the inputs' q, k and v."""

from copy import copy as copy_of

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import jfa

from .inputs import turn


class Unsuitable(Exception):
    pass


def arguments(inputs):
    """q, k and v in the shapes that our plans take, and their offsets."""
    s = inputs.shape
    tensors = inputs.q, inputs.k, inputs.v
    if s.mode == "dense":
        return [x.view(len(s.q_len), -1, *x.shape[1:]) for x in tensors], {}
    offsets = {"k_offsets": inputs.k_offsets}
    if s.mode == "jagged":
        offsets["q_offsets"] = inputs.q_offsets
    return tensors, offsets


def _block(inputs, rotary, sincos):
    q, k, v = inputs.q, inputs.k, inputs.v
    plan = jfa.BlockAttentionForwardPlan(
        q, k, v, inputs.offsets(inputs.shape.sequences), rotary=rotary)
    o = torch.empty_like(q)
    launch = plan.bind(q, k, v, o, sincos)

    def call():
        launch()
        return o

    call.facts = plan.facts()
    return call, lambda out: out


def ours(inputs, work_order=0):
    s = inputs.shape
    if s.mode == "block":
        return _block(inputs, "qk" if s.rotary else None, inputs.sincos)
    (q, k, v), offsets = arguments(inputs)
    plan = jfa.AttentionForwardPlan(q, k, v, causal=s.causal,
                                    work_order=work_order, **offsets)
    o, lse = plan.make_outputs()
    launch = plan.bind(q, k, v, o, lse, **offsets)

    def call():
        launch()
        return o

    call.facts = plan.facts()
    return call, lambda out: out.reshape(-1, *out.shape[-2:])


def _dense(inputs, backend):
    s = inputs.shape
    if s.mode != "dense":
        raise Unsuitable
    # The same memory as ours: [B, S, H, D] seen as [B, H, S, D].
    q, k, v = (x.view(len(s.q_len), -1, *x.shape[1:]).transpose(1, 2)
               for x in (inputs.q, inputs.k, inputs.v))

    def call():
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, is_causal=s.causal)

    return call, lambda out: out.transpose(1, 2).reshape(-1, *inputs.q.shape[1:])


def cudnn(inputs):
    return _dense(inputs, SDPBackend.CUDNN_ATTENTION)


def fa2(inputs):
    """FlashAttention 2 as torch has it: dense or varlen. For block attention each
    block is a sequence, the cheapest that it can do."""
    s = inputs.shape
    if s.mode == "dense":
        return _dense(inputs, SDPBackend.FLASH_ATTENTION)
    from torch.nn.attention.varlen import varlen_attn
    longest_q, longest_k = max(s.q_len), max(s.k_len)

    def call():
        # With a broadcast query the copies are part of the cost.
        return varlen_attn(inputs.expanded_q(), inputs.k, inputs.v,
                           inputs.q_offsets, inputs.k_offsets, longest_q,
                           longest_k)

    return call, lambda out: out


def cudnn_padded(inputs):
    """What one does without a jagged kernel: pad to the longest, waste the
    rest. Keys that are padding are not masked, so its results are not."""
    s = inputs.shape
    if s.mode != "jagged":
        raise Unsuitable
    shape = (len(s.q_len), s.heads, max(s.q_len), s.head_dim)
    q, k, v = (torch.randn(shape, device=inputs.q.device, dtype=inputs.q.dtype)
               for _ in range(3))

    def call():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return F.scaled_dot_product_attention(q, k, v)

    call.leaves = (q, k, v)
    return call, None


def copy(inputs):
    """For block attention: a copy that moves as many bytes."""
    if not inputs.bytes:
        raise Unsuitable
    source = torch.empty(inputs.bytes // 2, dtype=torch.uint8,
                         device=inputs.q.device)
    target = torch.empty_like(source)
    return lambda: target.copy_(source), None


def flex(inputs):
    """FlexAttention with a document mask, compiled."""
    from torch.nn.attention.flex_attention import (create_block_mask,
                                                   flex_attention)
    s = inputs.shape
    if s.mode in ("broadcast", "block"):
        raise Unsuitable
    compiled = torch.compile(flex_attention, dynamic=False)
    if s.mode == "dense":
        batch, length = len(s.q_len), s.q_len[0]
        mask = None
        if s.causal:
            mask = create_block_mask(lambda b, h, i, j: i >= j, None, None,
                                     length, length, device=inputs.q.device,
                                     _compile=True)
    else:
        batch, length = 1, sum(s.q_len)
        sequence = torch.repeat_interleave(
            torch.arange(len(s.q_len), device=inputs.q.device),
            inputs.q_offsets.diff().long())
        mask = create_block_mask(
            lambda b, h, i, j: sequence[i] == sequence[j], None, None, length,
            length, device=inputs.q.device, _compile=True)
    q, k, v = (x.view(batch, length, *x.shape[1:]).transpose(1, 2).contiguous()
               for x in (inputs.q, inputs.k, inputs.v))
    return (lambda: compiled(q, k, v, block_mask=mask),
            lambda out: out.transpose(1, 2).reshape(-1, *inputs.q.shape[1:]))


def without_rotary(make):
    """A peer that rotates nothing, where nothing is to be rotated."""

    def peer(inputs):
        if inputs.shape.rotary:
            raise Unsuitable
        return make(inputs)

    return peer


def _unrotated(inputs):
    """Ours without the rotation: what that costs."""
    if not inputs.shape.rotary:
        raise Unsuitable
    call, _ = _block(inputs, None, None)
    return call, None


def rotated_first(make):
    """What torch.compile makes of the rotation, and after it a forward."""

    def peer(inputs):
        if not inputs.shape.rotary:
            raise Unsuitable
        rotate = torch.compile(lambda q, k, out_q, out_k: (
            out_q.copy_(turn(q, inputs.sincos)),
            out_k.copy_(turn(k, inputs.sincos))))
        rotated = copy_of(inputs)
        rotated.q, rotated.k = (torch.empty_like(x)
                                for x in (inputs.q, inputs.k))
        forward, to_rows = make(rotated)

        def call():
            rotate(inputs.q, inputs.k, rotated.q, rotated.k)
            return forward()

        return call, to_rows

    return peer


PEERS = {
    "jfa": ours,
    "cudnn": without_rotary(cudnn),
    "fa2": without_rotary(fa2),
    "cudnn padded": without_rotary(cudnn_padded),
    "flex": without_rotary(flex),
    "jfa unrotated": _unrotated,
    "rotary + jfa": rotated_first(lambda inputs: _block(inputs, None, None)),
    "rotary + fa2": rotated_first(fa2),
    "copy": copy,
}
