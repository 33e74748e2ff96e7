#!/usr/bin/env python3
# ===- attention_forward.py - Acceptance of the attention forward *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Checks the attention forward on a GPU against the contract.

Every test prints one line, the last line counts them. Without torch or a GPU
everything is skipped, loudly, and the exit status is 0.
"""

import itertools
import sys

from harness import (MISSING, NAN, expect_refusal, main, split, test, variants,
                     with_empties)

if not MISSING:
    import torch

    import jfa
    from reference import DEVICE, LENGTHS, Problem, compare


# ===--- Helpers ---------------------------------------------------------=== #


def make_plan(p, **overrides):
    t = {n: p.shaped(n) for n in "qkv"}
    t.update(overrides)
    return jfa.AttentionForwardPlan(
        t["q"], t["k"], t["v"], p.q_offsets, p.k_offsets, causal=p.causal,
        scale=p.scale)


def run(p, plan=None):
    """Runs a problem into NaN-filled outputs; returns them by rows."""
    plan = plan or make_plan(p)
    o, lse = plan.make_outputs()
    o.fill_(NAN)
    lse.fill_(NAN)
    plan.bind(p.shaped("q"), p.shaped("k"), p.shaped("v"), o, lse, p.q_offsets,
              p.k_offsets)()
    torch.cuda.synchronize()
    return o.reshape(-1, *o.shape[-2:]), lse


def check(p, sequences=None):
    p.make()
    o, lse = run(p)
    error, bound = compare(p, o, lse, sequences)
    if p.mode == "jagged":
        used = slice(p.o_start[0], p.o_start[-1])
        outside = torch.ones(o.shape[0], dtype=torch.bool, device=DEVICE)
        outside[used] = False
        assert torch.isnan(o[outside]).all(), "o was written outside"
        assert torch.isnan(lse[:, outside]).all(), "lse was written outside"
    return f"error {error:.2e} of {bound:.2e}"


# ===--- Numbers ---------------------------------------------------------=== #


@test
def modes():
    pairs = with_empties(LENGTHS)
    for name, options in variants():
        for heads in ((2, 2), (4, 1), (6, 2)):
            q_len, k_len = split(pairs)
            yield (f"jagged {name} heads {heads}", lambda o=options, h=heads:
                   check(Problem("jagged", q_len, k_len, h, lead=37, tail=200,
                                 **o)))
        for lq in (1, 100, 128, 300):
            k_len = [k for _, k in pairs]
            yield (f"broadcast {name} Lq {lq}", lambda o=options, n=lq, k=k_len:
                   check(Problem("broadcast", [n] * len(k), k, (4, 2), lead=5,
                                 tail=200, **o)))
        for q, k in LENGTHS:
            yield (f"dense {name} {q}x{k}", lambda o=options, q=q, k=k:
                   check(Problem("dense", [q] * 3, [k] * 3, (4, 2), **o)))
        # Long sequences of queries have kernels of their own, whose CTAs take two
        # tiles together: an odd number of tiles, and one that is not full.
        for q, k in ((2048, 300), (2049, 129), (2176, 2176), (2300, 77)):
            yield (f"dense {name} {q}x{k}", lambda o=options, q=q, k=k:
                   check(Problem("dense", [q] * 2, [k] * 2, (4, 2), **o)))


@test
def inputs():
    pairs = with_empties(LENGTHS[:-1])
    for kind in ("x3", "x20", "constant", "outlier", "walk"):
        for name, options in variants():
            q_len, k_len = split(pairs)
            yield (f"{kind} {name}", lambda o=options, k=kind: check(
                Problem("jagged", q_len, k_len, (4, 2), kind=k, lead=3,
                        tail=130, **o)))
    yield ("scale 0.5", lambda: check(
        Problem("jagged", *split(pairs), (2, 2), scale=0.5)))


@test
def isolation():
    """NaN and infinities stay in their own sequence."""

    def body(value, causal):
        q_len, k_len = split(with_empties(LENGTHS[:10]))
        p = Problem("jagged", q_len, k_len, (4, 2), causal=causal).make()
        good = run(p)
        for bad in (3, 7):
            for name, starts in (("q", p.q_start), ("k", p.k_start),
                                 ("v", p.k_start)):
                p.tensors[name][starts[bad]:starts[bad + 1]] = value
        o, lse = run(p)
        keep = torch.ones(o.shape[0], dtype=torch.bool, device=DEVICE)
        for bad in (3, 7):
            keep[p.o_start[bad]:p.o_start[bad + 1]] = False
        assert torch.equal(o[keep], good[0][keep])
        assert torch.equal(lse[:, keep], good[1][:, keep])

    for value, causal in itertools.product((NAN, float("-inf")), (False, True)):
        yield (f"sequences of {value} {'causal' if causal else 'full'}",
               lambda v=value, c=causal: body(v, c))


@test
def repeatability():

    def body(dim, causal):
        p = Problem("jagged", *split(with_empties(LENGTHS)), (4, 2), dim,
                    causal=causal).make()
        plan = make_plan(p)
        first = run(p, plan)
        for i in range(100):
            again = run(p, plan)
            for a, b in zip(first, again):
                assert torch.equal(a, b), f"launch {i} differs"

    for dim, causal in itertools.product((64, 128), (False, True)):
        yield (f"100 launches D{dim} {'causal' if causal else 'full'}",
               lambda d=dim, c=causal: body(d, c))


# ===--- Sizes -----------------------------------------------------------=== #


@test
def sizes():
    g = torch.Generator().manual_seed(3)

    def lengths(count, limit):
        return torch.randint(0, limit, (count,), generator=g).tolist()

    for causal in (False, True):
        word = "causal" if causal else "full"
        yield (f"B=100000 {word}", lambda c=causal: check(
            Problem("jagged", lengths(100000, 9), lengths(100000, 9), (2, 1),
                    causal=c, tail=64)))
        # Work items of several heads, of short and of long sequences.
        yield (f"B=4000 of several tiles {word}", lambda c=causal: check(
            Problem("jagged", lengths(4000, 300) + [9000, 1, 2500],
                    lengths(4000, 300) + [9000, 700, 2500], (8, 2),
                    causal=c, tail=64)))
    yield ("B=1000000", lambda: check(
        Problem("jagged", lengths(10**6, 2), lengths(10**6, 2), (1, 1), 64)))
    yield ("B=100000 broadcast", lambda: check(
        Problem("broadcast", [3] * 100000, lengths(100000, 9), (2, 1))))
    # 2^31 elements are 4194304 rows of 4 heads of 128.
    long = [2048] * 2100 + [1000, 77]
    some = [0, 1050, 2046, 2047, 2048, 2099, 2100, 2101]
    for causal in (False, True):
        yield (f"2^31 elements {'causal' if causal else 'full'}",
               lambda c=causal: check(
                   Problem("jagged", long, long, (4, 4), causal=c, tail=64),
                   some))


@test
def lengths_choose():
    """What kernel a plan takes depends on the lengths of its sequences."""

    def body(p, tile):
        plan = make_plan(p.make())
        got = plan.facts()["block_m"]
        assert got == tile, f"expected tiles of {tile} rows, but got {got}"
        error, bound = compare(p, *run(p, plan))
        return f"error {error:.2e} of {bound:.2e}"

    short = [34, 64, 0, 1, 63] * 40
    for lengths, tile in ((short, 64), ([*short, 65], 128)):
        yield (f"jagged up to {max(lengths)}", lambda n=lengths, t=tile: body(
            Problem("jagged", n, n, (4, 2), lead=3, tail=70), t))
    keys = [700, 0, 1, 130, 2000] * 10
    for causal in (False, True):
        for lq, tile in ((128, 128), (192, 192), (256, 128), (257, 192),
                         (512, 192)):
            yield (f"broadcast D64 Lq {lq} {'causal' if causal else 'full'}",
                   lambda n=lq, t=tile, c=causal: body(
                       Problem("broadcast", [n] * len(keys), keys, (4, 2), 64,
                               causal=c), t))


@test
def empties():

    def nothing(mode, pairs, heads=(4, 2)):
        for causal in (False, True):
            check(Problem(mode, *split(pairs), heads, causal=causal, tail=3))

    yield "no sequence", lambda: nothing("jagged", [])
    yield "every sequence empty", lambda: nothing("jagged", [(0, 0)] * 7)
    yield "no queries", lambda: nothing("jagged", [(0, 5), (0, 700)])
    yield "no keys", lambda: nothing("jagged", [(5, 0), (700, 0)])
    yield "dense no keys", lambda: nothing("dense", [(300, 0)] * 2)
    yield "dense no queries", lambda: nothing("dense", [(0, 300)] * 2)
    yield "broadcast no keys", lambda: nothing("broadcast", [(130, 0)] * 3)
    yield "broadcast no sequence", lambda: nothing("broadcast", [])
    yield "more queries than keys", lambda: nothing(
        "jagged", [(300, 2), (129, 128), (1, 0), (500, 129)])


@test
def strides():

    def views(layout):
        p = Problem("jagged", *split(with_empties(LENGTHS[:10])), (4, 4),
                    causal=True).make()
        rows = max(p.q_rows, p.k_rows)
        if layout == "qkv":
            base = torch.full((rows, 3, 4, 128), NAN, dtype=p.dtype,
                              device=DEVICE)
            parts = [base[:, i] for i in range(3)]
        elif layout == "heads first":
            base = torch.full((3, 4, rows, 128), NAN, dtype=p.dtype,
                              device=DEVICE)
            parts = [base[i].transpose(0, 1) for i in range(3)]
        else:  # rows a MiB apart
            parts = [torch.as_strided(
                torch.full((rows << 19,), NAN, dtype=p.dtype, device=DEVICE),
                (rows, 4, 128), (1 << 19, 128, 1)) for _ in range(3)]
        for name, part in zip("qkv", parts):
            part = part[:p.tensors[name].shape[0]]
            part.copy_(p.tensors[name])
            p.tensors[name] = part
        compare(p, *run(p))

    for layout in ("qkv", "heads first", "wide"):
        yield f"strides {layout}", lambda w=layout: views(w)


# ===--- Refusals --------------------------------------------------------=== #


@test
def refusals():
    pairs = [(64, 128), (128, 192), (10, 20)]

    def good(**options):
        return Problem("jagged", *split(pairs), (4, 2), **options).make()

    def unsupported_head_dim():
        p = good(head_dim=96)
        return expect_refusal(lambda: make_plan(p), "head_dim")

    def wrong_heads():
        p = Problem("jagged", *split(pairs), (4, 3)).make()
        return expect_refusal(lambda: make_plan(p), "num_kv_heads")

    def wrong_type(name):
        p = good()
        x = p.tensors[name].float()
        return expect_refusal(lambda: make_plan(p, **{name: x}), name)

    def falling():
        p = good()
        p.k_offsets[1] = 300
        p.k_offsets[2] = 250
        return expect_refusal(lambda: make_plan(p), "k_offsets")

    def negative():
        p = good()
        p.q_offsets[0] = -1
        return expect_refusal(lambda: make_plan(p), "q_offsets")

    def misaligned_rows(name):
        p = good()
        x = p.tensors[name]
        wide = torch.empty(x.shape[0], x.shape[1] * 128 + 4, dtype=p.dtype,
                           device=DEVICE)
        x = torch.as_strided(wide, x.shape, (wide.stride(0), 128, 1))
        return expect_refusal(lambda: make_plan(p, **{name: x}),
                              f"{name}_row_stride")

    def at_execution(name, change):
        p = good()
        plan = make_plan(p)
        o, lse = plan.make_outputs()
        t = dict(q=p.tensors["q"], k=p.tensors["k"], v=p.tensors["v"], o=o,
                 lse=lse, q_offsets=p.q_offsets, k_offsets=p.k_offsets)
        argument = change(t) or name
        return expect_refusal(lambda: plan.bind(**t)(), argument, (o, lse))

    def misalign(name):

        def change(t):
            x = t[name]
            t[name] = torch.empty(x.numel() + 8, dtype=x.dtype,
                                  device=DEVICE)[1:1 + x.numel()].view(x.shape)

        return change

    def drop(name):
        return lambda t: t.update({name: None})

    def short(t):
        t["workspace"] = torch.empty(0, dtype=torch.uint8, device=DEVICE)
        return "workspace_bytes"

    yield "refuses head_dim 96", unsupported_head_dim
    yield "refuses 3 heads for 4", wrong_heads
    yield "refuses falling offsets", falling
    yield "refuses negative offsets", negative
    for name in "qkv":
        yield f"refuses {name} in fp32", lambda n=name: wrong_type(n)
        yield f"refuses rows of {name}", lambda n=name: misaligned_rows(n)
    for name in "qkvo":
        yield (f"refuses misaligned {name}",
               lambda n=name: at_execution(n, misalign(n)))
    for name in ("q_offsets", "k_offsets"):
        yield f"refuses no {name}", lambda n=name: at_execution(n, drop(n))
    yield "refuses a small workspace", lambda: at_execution("workspace", short)


if __name__ == "__main__":
    sys.exit(main("the attention forward", __doc__))
