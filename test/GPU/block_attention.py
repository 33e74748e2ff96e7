#!/usr/bin/env python3
# ===- block_attention.py - Acceptance of block attention ----*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Checks block attention on a GPU against the contract.

Every test prints one line, the last line counts them. Without torch or a GPU
everything is skipped, loudly, and the exit status is 0.
"""

import itertools
import math
import sys

from harness import MISSING, NAN, expect_refusal, main, test

if not MISSING:
    import torch

    import jfa
    from block_reference import (NAMES, compare, compare_gradients, gradients,
                                 make_angles, make_dout, make_problem,
                                 rotate_inputs, turn)
    from reference import DEVICE, LENGTHS


# ===--- Helpers ---------------------------------------------------------=== #

# How many of q, k and v are rotated.
ROTATED = {"qk": 2, "qkv": 3}


def with_empties(lengths):
    """The lengths with every fifth and the last sequence empty."""
    result = []
    for length in lengths:
        if len(result) % 5 == 4:
            result.append(0)
        result.append(length)
    return [*result, 0]


def all_lengths():
    return with_empties([n for pair in LENGTHS for n in pair])


def make_plan(p, **overrides):
    t = dict(p.tensors, offsets=p.offsets)
    t.update(overrides)
    return jfa.BlockAttentionForwardPlan(t["q"], t["k"], t["v"], t["offsets"],
                                         scale=p.scale,
                                         rotary=t.get("rotary"))


def run(p, plan=None, rotary=None, sincos=None):
    """Runs a problem into a NaN-filled output."""
    plan = plan or make_plan(p, rotary=rotary)
    o = torch.full(plan.shape, NAN, dtype=p.dtype, device=DEVICE)
    plan.bind(p.tensors["q"], p.tensors["k"], p.tensors["v"], o, sincos)()
    torch.cuda.synchronize()
    return o


def check(lengths, heads=2, sequences=None, rotary=None, **options):
    p = make_problem(lengths, heads, **options)
    sincos = make_angles(p) if rotary else None
    o = run(p, rotary=rotary, sincos=sincos)
    if rotary:
        p = rotate_inputs(p, sincos, ROTATED[rotary])
    error, bound = compare(p, o, sequences)
    outside = torch.ones(o.shape[0], dtype=torch.bool, device=DEVICE)
    outside[p.o_start[0]:p.o_start[-1]] = False
    assert torch.isnan(o[outside]).all(), "o was written outside"
    return f"error {error:.2e} of {bound:.2e}"


def run_backward(p, dout, plan=None, rotary=None, sincos=None, **options):
    """Runs a problem into NaN-filled gradients."""
    t = p.tensors
    plan = plan or jfa.BlockAttentionBackwardPlan(
        t["q"], t["k"], t["v"], p.offsets, scale=p.scale, rotary=rotary,
        **options)
    outputs = plan.make_outputs()
    for x in outputs:
        x.fill_(NAN)
    plan.bind(t["q"], t["k"], t["v"], dout, *outputs, sincos=sincos)()
    torch.cuda.synchronize()
    return outputs


def check_backward(lengths, heads=2, blocks=None, **options):
    p = make_problem(lengths, heads, **options)
    dout = make_dout(p)
    got = run_backward(p, dout)
    note = compare_gradients(p, dout, got, blocks)
    outside = torch.ones(dout.shape[0], dtype=torch.bool, device=DEVICE)
    outside[p.o_start[0]:p.o_start[-1]] = False
    for name, x in zip(NAMES, got):
        assert torch.isnan(x[outside]).all(), f"{name} was written outside"
    return note


def variants():
    for dim, dtype in itertools.product((64, 128),
                                        (torch.bfloat16, torch.float16)):
        yield (f"D{dim} {str(dtype).split('.')[1]}",
               dict(head_dim=dim, dtype=dtype))


# ===--- Numbers ---------------------------------------------------------=== #


@test
def numbers():
    for name, options in variants():
        for heads in (1, 2, 3, 8):
            yield (f"forward {name} heads {heads}", lambda o=options, h=heads:
                   check(all_lengths(), h, lead=37, tail=200, **o))


@test
def backward():
    for name, options in variants():
        for heads in (1, 2, 3, 8):
            yield (f"backward {name} heads {heads}",
                   lambda o=options, h=heads: check_backward(
                       all_lengths(), h, lead=37, tail=200, **o))
    for kind in ("x3", "x20", "constant", "outlier", "walk"):
        for name, options in variants():
            yield (f"backward {kind} {name}", lambda o=options, k=kind:
                   check_backward(all_lengths(), kind=k, lead=3, tail=130, **o))
    yield "backward scale 0.5", lambda: check_backward(all_lengths(), scale=0.5)
    yield "backward of nothing", lambda: check_backward([0] * 7, tail=3)


@test
def rotary():
    """Gradients turned back, which is at least as exact as doing it afterwards."""

    def body(kind, rotated, heads, options):
        p = make_problem(all_lengths(), heads, lead=5, tail=70, **options)
        sincos = make_angles(p)
        dout = make_dout(p)
        got = run_backward(p, dout, rotary=kind, sincos=sincos)
        note = compare_gradients(p, dout, got, None, sincos, rotated)
        used = slice(p.o_start[0], p.o_start[-1])
        exact = compute(p, dout, sincos, rotated, torch.float32)
        # The same kernel without the rotation, and torch without any kernel.
        afterwards = [turn(x[used].transpose(0, 1), sincos[used], -1)
                      .transpose(0, 1) for x in run_backward(p, dout)[:rotated]]
        unfused = compute(p, dout, sincos, rotated, p.dtype)

        def error(xs):
            return math.sqrt(sum((x.float() - wanted[used]).square().mean().item()
                                 for x, wanted in zip(xs, exact[:rotated])))

        fused_error = error([x[used] for x in got])
        to_kernel = fused_error / error(afterwards)
        rotating(p, dout, kind, sincos, rotated)
        to_torch = fused_error / error([x[used] for x in unfused])
        assert to_kernel < 1, f"{to_kernel:.2f} of the error of turning back after"
        assert to_torch <= 0.5, f"{to_torch:.2f} of the error of torch"
        return (f"{to_kernel:.2f} of the error of turning back after, "
                f"{to_torch:.2f} of torch's; {note}")

    def rotating(p, dout, kind, sincos, rotated):
        """The kernel that rotates q, k and v itself."""
        got = run_backward(p, dout, rotary=kind, sincos=sincos,
                           rotate_inputs=True)
        p = rotate_inputs(p, sincos, rotated)
        compare_gradients(p, dout, got, None, sincos, rotated)

    def compute(p, dout, sincos, rotated, dtype):
        result = [torch.zeros(dout.shape, device=DEVICE) for _ in range(3)]
        by_length = {}
        for b in range(p.batch):
            by_length.setdefault(p.q_len[b], []).append(p.o_start[b])
        for n, starts in by_length.items():
            rows = torch.tensor(starts, device=DEVICE)[:, None]
            rows = rows + torch.arange(n, device=DEVICE)
            inputs = [x[rows].transpose(1, 2)
                      for x in (*(p.tensors[x] for x in "qkv"), dout)]
            found = gradients(*inputs, p.head_dim**-0.5, dtype)
            for i, x in enumerate(found):
                x = turn(x, sincos[rows], -1) if i < rotated else x
                result[i][rows] = x.transpose(1, 2).float()
        return result

    for kind, rotated in ROTATED.items():
        for name, options in variants():
            for heads in (1, 2, 3, 8):
                yield (f"forward rotary {kind} {name} heads {heads}",
                       lambda k=kind, h=heads, o=options: check(
                           all_lengths(), h, rotary=k, lead=5, tail=70, **o))
                yield (f"rotary {kind} {name} heads {heads}",
                       lambda k=kind, r=rotated, h=heads, o=options:
                       body(k, r, h, o))


@test
def autograd():

    def body():
        p = make_problem(all_lengths(), 2)
        t = {n: x.clone().requires_grad_() for n, x in p.tensors.items()}
        dout = make_dout(p)
        o = jfa.block_attention(t["q"], t["k"], t["v"], p.offsets)
        o.backward(dout)
        want = run_backward(p, dout)
        assert torch.equal(o.detach(), run(p))
        for name, x in zip("qkv", want):
            assert torch.equal(t[name].grad, x), f"the gradient of {name}"

    yield "autograd", body

    def with_rotary(kind, rotated, function):
        p = make_problem(all_lengths(), 2, lead=3, tail=130)
        used = slice(p.o_start[0], p.o_start[-1])
        dout, sincos = make_dout(p), make_angles(p) if kind else None
        t = {n: x.clone().requires_grad_() for n, x in p.tensors.items()}
        o = function(t["q"], t["k"], t["v"], p.offsets, rotary=kind,
                     sincos=sincos)
        o.backward(dout)
        want = run_backward(p, dout, rotary=kind, sincos=sincos,
                            rotate_inputs=True)
        same = run(p, rotary=kind, sincos=sincos)
        assert torch.equal(o[used], same[used]), "o"
        if kind:
            p = rotate_inputs(p, sincos, rotated)
        compare(p, o.detach())
        for name, x in zip("qkv", want):
            got = t[name].grad
            assert torch.equal(got[used], x[used]), f"the gradient of {name}"
            assert (got[:used.start] == 0).all() and \
                (got[used.stop:] == 0).all(), f"rows of no sequence of {name}"

    compiled = torch.compile(jfa.block_attention, fullgraph=True)
    for kind, rotated in ((None, 0), ("qk", 2), ("qkv", 3)):
        for name, function in (("autograd", jfa.block_attention),
                               ("torch.compile", compiled)):
            yield (f"{name} rotary {kind}", lambda k=kind, r=rotated, f=function:
                   with_rotary(k, r, f))


@test
def inputs():
    for kind in ("x3", "x20", "constant", "outlier", "walk"):
        for name, options in variants():
            yield (f"{kind} {name}", lambda o=options, k=kind: check(
                all_lengths(), kind=k, lead=3, tail=130, **o))
    yield "scale 0.5", lambda: check(all_lengths(), scale=0.5)


@test
def isolation():
    """NaN and infinities stay in their own block."""

    def results(p, sincos):
        dout = make_dout(p)
        turned = dict(rotary="qkv", sincos=sincos)
        return (run(p), *run_backward(p, dout), run(p, **turned),
                *run_backward(p, dout, **turned, rotate_inputs=True))

    def body(value, dim):
        p = make_problem([300, 64, 0, 65, 1, 129, 640], 3, head_dim=dim)
        sincos = make_angles(p)
        all_good = results(p, sincos)
        good = all_good[0]
        keep = torch.ones(good.shape[0], dtype=torch.bool, device=DEVICE)
        for bad in (1, 4, 6, 9):
            rows = slice(p.o_start[bad], p.o_start[bad + 1])
            keep[rows] = False
            for x in (*p.tensors.values(), sincos):
                x[rows] = value
        for x, good in zip(results(p, sincos), all_good):
            assert torch.equal(x[keep], good[keep])

    for value, dim in itertools.product((NAN, float("-inf")), (64, 128)):
        yield f"blocks of {value} D{dim}", lambda v=value, d=dim: body(v, d)


@test
def repeatability():

    def body(dim):
        p = make_problem(all_lengths(), 4, head_dim=dim)
        plan = make_plan(p)
        first = run(p, plan)
        for i in range(100):
            assert torch.equal(run(p, plan), first), f"launch {i} differs"
        plan = make_plan(p, rotary="qkv")
        sincos = make_angles(p)
        first = run(p, plan, sincos=sincos)
        for i in range(100):
            assert torch.equal(run(p, plan, sincos=sincos), first), \
                f"rotary launch {i} differs"
        dout = make_dout(p)
        plan = jfa.BlockAttentionBackwardPlan(*(p.tensors[n] for n in "qkv"),
                                              p.offsets)
        first = run_backward(p, dout, plan)
        for i in range(100):
            for x, y in zip(run_backward(p, dout, plan), first):
                assert torch.equal(x, y), f"backward {i} differs"

    for dim in (64, 128):
        yield f"100 launches D{dim}", lambda d=dim: body(d)


# ===--- Sizes -----------------------------------------------------------=== #


@test
def sizes():
    g = torch.Generator().manual_seed(3)

    def lengths(count, limit):
        return torch.randint(0, limit, (count,), generator=g).tolist()

    yield "B=100000", lambda: check(lengths(100000, 9), tail=64)
    yield "B=1000000", lambda: check(lengths(10**6, 2), 1, head_dim=64)
    yield "one sequence of 1000000", lambda: check([1000000], 1)
    # 2^31 elements are 4194304 rows of 4 heads of 128.
    long = [2048] * 2100 + [1000, 77]
    some = [0, 1050, 65471, 65503, 65535, 65536, 67200, 67215, 67216, 67217]
    yield "2^31 elements", lambda: check(long, 4, some, tail=64)
    yield ("rotary B=100000",
           lambda: check(lengths(100000, 9), rotary="qk", tail=64))
    yield ("rotary 2^31 elements",
           lambda: check(long, 4, some, rotary="qkv", tail=64))
    yield "backward B=100000", lambda: check_backward(lengths(100000, 9), tail=64)
    yield "backward 2^31 elements", lambda: check_backward(long, 4, some, tail=64)


@test
def empties():
    yield "no sequence", lambda: check([], tail=3)
    yield "every sequence empty", lambda: check([0] * 7, tail=3)
    yield "one row", lambda: check([0, 0, 1, 0])


@test
def strides():

    def views(layout):
        p = make_problem(all_lengths()[:12], 4)
        rows = p.q_rows
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
            part.copy_(p.tensors[name])
            p.tensors[name] = part
        compare(p, run(p))
        sincos = make_angles(p)
        compare(rotate_inputs(p, sincos, 2), run(p, rotary="qk", sincos=sincos))
        dout = make_dout(p)
        compare_gradients(p, dout, run_backward(p, dout))

    for layout in ("qkv", "heads first", "wide"):
        yield f"strides {layout}", lambda w=layout: views(w)


# ===--- Refusals --------------------------------------------------------=== #


@test
def refusals():
    lengths = [64, 128, 10]

    def plan_refused(argument, **options):
        overrides = options.pop("overrides", None)

        def body():
            p = make_problem(lengths, 4, **options)
            changed = overrides(p) if overrides else {}
            return expect_refusal(lambda: make_plan(p, **changed), argument)

        return body

    def fewer_heads(p):
        return {n: p.tensors[n][:, :2].contiguous() for n in "kv"}

    def offsets(*values):
        return lambda p: dict(offsets=torch.tensor(
            values, dtype=torch.int32, device=DEVICE))

    yield "refuses head_dim 96", plan_refused("head_dim", head_dim=96)
    yield "refuses fewer heads of k and v", plan_refused(
        "num_kv_heads", overrides=fewer_heads)
    yield "refuses falling offsets", plan_refused(
        "offsets", overrides=offsets(0, 64, 60, 80))
    yield "refuses negative offsets", plan_refused(
        "offsets", overrides=offsets(-1, 64, 70, 80))
    yield "refuses offsets beyond the rows", plan_refused(
        "offsets", overrides=offsets(0, 64, 1000))
    for name in "qkv":
        yield f"refuses {name} in fp32", plan_refused(
            name, overrides=lambda p, n=name: {n: p.tensors[n].float()})

    def at_execution(argument, change):
        p = make_problem(lengths, 4)
        plan = make_plan(p)
        o = torch.empty(plan.shape, dtype=p.dtype, device=DEVICE)
        t = dict(p.tensors, o=o)
        change(t)
        return expect_refusal(lambda: plan.bind(**t)(), argument, (o,))

    def misalign(name):

        def change(t):
            x = t[name]
            t[name] = torch.empty(x.numel() + 8, dtype=x.dtype,
                                  device=DEVICE)[1:1 + x.numel()].view(x.shape)

        return change

    def short(t):
        t["workspace"] = torch.empty(0, dtype=torch.uint8, device=DEVICE)

    for name in "qkvo":
        yield (f"refuses misaligned {name}",
               lambda n=name: at_execution(n, misalign(n)))

    def rotary():
        p = make_problem(lengths, 4)
        return expect_refusal(
            lambda: jfa.BlockAttentionBackwardPlan(
                *(p.tensors[n] for n in "qkv"), p.offsets, rotary="kv"),
            "rotary")

    def forward_rotary():
        p = make_problem(lengths, 4)
        return expect_refusal(lambda: make_plan(p, rotary="v"), "rotary")

    def forward_angles(rotary, given):
        p = make_problem(lengths, 4)
        plan = make_plan(p, rotary=rotary)
        o = torch.empty(plan.shape, dtype=p.dtype, device=DEVICE)
        t = dict(p.tensors, o=o, sincos=given(p))
        return expect_refusal(lambda: plan.bind(**t)(), "sincos", (o,))

    def angles_for_nothing():
        p = make_problem(lengths, 4)
        return expect_refusal(
            lambda: jfa.block_attention(*(p.tensors[n] for n in "qkv"),
                                        p.offsets, sincos=make_angles(p)),
            "sincos")

    yield "refuses a rotation of k and v only", rotary
    yield "refuses a rotation of v only", forward_rotary
    for what, rotary, given in (
            ("no angles", "qk", lambda p: None),
            ("angles of a plan without", None, make_angles),
            ("angles in fp32", "qk", lambda p: make_angles(p).float()),
            ("angles of fewer rows", "qk", lambda p: make_angles(p)[1:])):
        yield (f"refuses {what}", lambda r=rotary, g=given: forward_angles(r, g))
    yield "refuses angles that nothing is rotated by", angles_for_nothing
    yield "refuses a small workspace", lambda: at_execution("workspace_bytes",
                                                            short)


if __name__ == "__main__":
    sys.exit(main("block attention", __doc__))
