# ===- block_reference.py - Block attention without fusion ---*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Problems of block attention, what torch makes of them, and how far a result may
be from that. Needs torch and a GPU."""

import copy
import math

import torch

from harness import NAN
from reference import DEVICE, Problem, Worst, references

BLOCK = 64
NAMES = ("dq", "dk", "dv")


def make_problem(lengths, heads=2, **options):
    """Block attention as attention of a sequence per block, with the offsets of
    the real sequences as `offsets`."""
    blocks = [min(BLOCK, n - at) for n in lengths for at in range(0, n, BLOCK)]
    p = Problem("jagged", blocks, blocks, (heads, heads), **options).make()
    starts = [p.lead]
    for n in lengths:
        starts.append(starts[-1] + n)
    p.offsets = torch.tensor(starts, dtype=torch.int32, device=DEVICE)
    return p


def compare(p, o, sequences=None):
    """Raises AssertionError unless `o` is right; returns error and bound."""
    worst = Worst("o")
    for rows, ref, low, _ in references(p, sequences):
        worst.add(o[rows].transpose(1, 2).float(), ref, low)
    return worst.check()


def gradients(q, k, v, dout, scale, dtype):
    """dq, dk and dv of `[..., n, D]` in `dtype` throughout, with no fusion."""
    q, k, v, dout = (x.to(dtype) for x in (q, k, v, dout))
    p = torch.softmax((q @ k.transpose(-1, -2)) * scale, -1)
    dp = dout @ v.transpose(-1, -2)
    ds = p * (dp - (p * dp).sum(-1, keepdim=True)) * scale
    return ds @ k, ds.transpose(-1, -2) @ q, p.transpose(-1, -2) @ dout


def make_dout(p):
    g = torch.Generator(device=DEVICE).manual_seed(p.seed + 1)
    dout = torch.randn(p.tensors["q"].shape, device=DEVICE, generator=g)
    dout = dout.to(p.dtype)
    dout[:p.o_start[0]] = NAN
    dout[p.o_start[-1]:] = NAN
    return dout


def turn(x, sincos, sign):
    """Rotates pairs of `[..., H, n, D]` by the angles `[..., n, D]`, in their
    type; forward with `sign` 1, back with -1."""
    sine, cosine = sincos.to(x.dtype)[..., None, :, :].chunk(2, -1)
    even, odd = x[..., 0::2], x[..., 1::2]
    sine = sine * sign
    return torch.stack((even * cosine - odd * sine, odd * cosine + even * sine),
                       -1).flatten(-2)


def make_angles(p):
    """Sines and cosines of random angles."""
    g = torch.Generator(device=DEVICE).manual_seed(p.seed + 2)
    angles = torch.rand(p.q_rows, p.head_dim // 2, device=DEVICE, generator=g)
    angles = angles * 2 * math.pi
    sincos = torch.cat((angles.sin(), angles.cos()), -1).to(p.dtype)
    sincos[:p.o_start[0]] = NAN
    sincos[p.o_start[-1]:] = NAN
    return sincos


def rotate_inputs(p, sincos, rotated):
    """The problem with the first `rotated` of q, k and v rotated in fp32 and
    rounded once."""
    result = copy.copy(p)
    result.tensors = dict(p.tensors)
    for n in "qkv"[:rotated]:
        x = turn(p.tensors[n].float().transpose(0, 1), sincos.float(), 1)
        result.tensors[n] = x.transpose(0, 1).to(p.dtype).contiguous()
    return result


def compare_gradients(p, dout, got, blocks=None, sincos=None, rotated=0):
    """Raises AssertionError unless dq, dk and dv are right; returns errors and
    bounds. The first `rotated` of them are turned back."""
    scale = p.scale or 1 / math.sqrt(p.head_dim)
    worst = [Worst(name) for name in NAMES]
    by_length = {}
    for b in range(p.batch) if blocks is None else blocks:
        by_length.setdefault(p.q_len[b], []).append(p.o_start[b])
    for n, starts in by_length.items():
        size = max(1, (1 << 26) // (n * p.heads[0] * p.head_dim))
        for at in range(0, len(starts), size):
            rows = torch.tensor(starts[at:at + size], device=DEVICE)[:, None]
            rows = rows + torch.arange(n, device=DEVICE)
            inputs = [x[rows].transpose(1, 2)
                      for x in (*(p.tensors[n] for n in "qkv"), dout)]
            ref = gradients(*inputs, scale, torch.float32)
            low = gradients(*inputs, scale, p.dtype)
            if rotated:
                angles = sincos[rows]
                ref, low = ([turn(x, angles, -1) if i < rotated else x
                             for i, x in enumerate(xs)] for xs in (ref, low))
            for i, w in enumerate(worst):
                w.add(got[i][rows].transpose(1, 2).float(), ref[i], low[i])
    return ", ".join("{} {:.1e} of {:.1e}".format(w.name, *w.check()) for w in worst)
