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
from reference import DEVICE, Problem, max_abs, references

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
    error = low_error = slack = 0.0
    for rows, ref, low, _ in references(p, sequences):
        got = o[rows].transpose(1, 2).float()
        assert torch.isfinite(got).all(), "o has values that are not finite"
        assert torch.isfinite(low).all(), "the bound itself is not finite"
        error = max(error, max_abs(got - ref))
        low_error = max(low_error, max_abs(low - ref))
        slack = max(slack, max_abs(ref + 0.3 - 0.3 - ref))
    bound = 2 * low_error + 2 * slack
    assert error <= bound, f"o is off by {error:.3e}, allowed {bound:.3e}"
    return error, bound


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
    worst = [[0.0] * 3 for _ in range(3)]
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
            for i in range(3):
                x = got[i][rows].transpose(1, 2).float()
                assert torch.isfinite(x).all(), \
                    f"{NAMES[i]} has values that are not finite"
                for j, change in enumerate((x - ref[i], low[i].float() - ref[i],
                                            ref[i] + 0.3 - 0.3 - ref[i])):
                    worst[i][j] = max(worst[i][j], max_abs(change))
    notes = []
    for name, (error, low_error, slack) in zip(NAMES, worst):
        bound = 2 * low_error + 2 * slack
        assert error <= bound, \
            f"{name} is off by {error:.3e}, allowed {bound:.3e}"
        notes.append(f"{name} {error:.1e} of {bound:.1e}")
    return ", ".join(notes)
