# ===- inputs.py - Tensors of a shape -----------------------*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""The tensors of a shape, and how far a result is off."""

import torch

DEVICE = "cuda"
DTYPE = torch.bfloat16


def turn(x, sincos, sign=1):
    """Rotates neighbours of `[rows, heads, D]` by the angles `[rows, D]` in fp32,
    and rounds once; back with `sign` -1."""
    sin, cos = sincos.float()[:, None].chunk(2, -1)
    sin = sin * sign
    even, odd = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    turned = torch.stack((even * cos - odd * sin, odd * cos + even * sin), -1)
    return turned.flatten(-2).to(x.dtype)


class Inputs:
    """Tensors of a shape, packed as [rows, heads, D], and the angles by which q and
    k are rotated, if they are."""

    # That a call has to move: q, k, v and o.
    tensors_moved = 4

    def __init__(self, shape):
        g = torch.Generator(device=DEVICE).manual_seed(0)

        def make(rows):
            return torch.randn(rows, shape.heads, shape.head_dim, device=DEVICE,
                               dtype=DTYPE, generator=g)

        broadcast = shape.mode == "broadcast"
        self.shape = shape
        self.q = make(shape.q_len[0] if broadcast else sum(shape.q_len))
        self.k = make(sum(shape.k_len))
        self.v = make(sum(shape.k_len))
        self.q_offsets = self.offsets(shape.q_len)
        self.k_offsets = self.offsets(shape.k_len)
        self.sincos = None
        if shape.rotary:
            angles = torch.rand(sum(shape.q_len), shape.head_dim // 2,
                                device=DEVICE, generator=g) * 6.28
            self.sincos = torch.cat((angles.sin(), angles.cos()), -1).to(DTYPE)

    @property
    def bytes(self):
        """What a call has to move, or None where memory does not bound it."""
        return self.shape.count_bytes(self.tensors_moved)

    @staticmethod
    def offsets(lengths):
        result = torch.zeros(len(lengths) + 1, dtype=torch.int32)
        result[1:] = torch.tensor(lengths).cumsum(0)
        return result.to(DEVICE)

    def expanded_q(self):
        """The broadcast query once per sequence; otherwise q."""
        if self.shape.mode != "broadcast":
            return self.q
        count = len(self.shape.q_len)
        return self.q[None].expand(count, *self.q.shape).reshape(
            -1, *self.q.shape[1:])

    def error(self, rows):
        """The largest difference of an output `[rows, H, D]` from fp32, on a
        sample of sequences, heads and rows."""
        s = self.shape
        worst = 0.0
        longest = max(range(len(s.k_len)), key=lambda b: s.k_len[b])
        q_start = self.q_offsets.tolist()
        k_start = self.k_offsets.tolist()
        for b in sorted({0, longest, len(s.k_len) - 1}):
            take = min(s.q_len[b], 512)
            first = s.q_len[b] - take
            at = first if s.mode == "broadcast" else q_start[b] + first
            for h in (0, s.heads - 1):
                q = self.q[at:at + take, h].float()
                k, v = (x[k_start[b]:k_start[b + 1], h].float()
                        for x in (self.k, self.v))
                if self.sincos is not None:
                    q, k = (turn(x[:, None], self.sincos[at:at + take])[:, 0]
                            for x in (q, k))
                scores = q @ k.T * s.head_dim**-0.5
                if s.causal:  # the last rows, so aligned at the bottom right
                    scores += torch.full_like(scores, float("-inf")).triu(
                        s.k_len[b] - take + 1)
                expected = torch.softmax(scores, -1) @ v
                out = q_start[b] + first
                got = rows[out:out + take, h].float()
                worst = max(worst, (got - expected).abs().max().item())
        return worst
