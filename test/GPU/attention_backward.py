#!/usr/bin/env python3
# ===- attention_backward.py - Acceptance of the attention backward *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Checks the attention backward on a GPU against the contract.

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
    from reference import DEVICE, LENGTHS, Gradients, Problem, compare

NAMES = ("dq", "dk", "dv")


# ===--- Helpers ---------------------------------------------------------=== #


def options_of(p):
    return dict(q_offsets=p.q_offsets, k_offsets=p.k_offsets, causal=p.causal,
                scale=p.scale)


class Run:
    """A problem, with the forward's results and a gradient of its output."""

    def __init__(self, problem, deterministic=False, dout=None):
        p = self.problem = problem.make()
        self.inputs = {n: p.shaped(n) for n in "qkv"}
        self.o, self.lse = jfa.attention_forward(*self.inputs.values(),
                                                 **options_of(p))
        if dout is None:
            g = torch.Generator(device=DEVICE).manual_seed(p.seed + 1)
            dout = torch.randn(self.o.shape, device=DEVICE, generator=g)
            dout = dout.to(p.dtype)
            if p.mode == "jagged":
                dout[:p.o_start[0]] = NAN
                dout[p.o_start[-1]:] = NAN
        self.dout = dout
        self.deterministic = deterministic

    def make_plan(self, **more):
        return jfa.AttentionBackwardPlan(
            *self.inputs.values(), **options_of(self.problem),
            deterministic=self.deterministic, dout=self.dout, **more)

    def rows(self, x):
        """A tensor as [rows, heads, D]."""
        return x.reshape(-1, *x.shape[-2:])

    def tensors(self, plan):
        """All that a plan's bind() takes, outputs and workspace full of NaN."""
        outputs = plan.make_outputs()
        for x in outputs:
            x.fill_(NAN)
        size = plan.workspace_bytes()
        workspace = torch.full((size,), 255, dtype=torch.uint8, device=DEVICE)
        jfa._library.call("jfaAttentionBackwardPlanInitializeWorkspace",
                          plan._plan, workspace.data_ptr(), size,
                          torch.cuda.current_stream().cuda_stream)
        return dict(**self.inputs, o=self.o, lse=self.lse, dout=self.dout,
                    **dict(zip(NAMES, outputs)),
                    q_offsets=self.problem.q_offsets,
                    k_offsets=self.problem.k_offsets, workspace=workspace)

    def __call__(self, plan=None):
        """The gradients by name, as [rows, heads, D]."""
        plan = plan or self.make_plan()
        tensors = self.tensors(plan)
        plan.bind(**tensors)()
        torch.cuda.synchronize()
        return {name: self.rows(tensors[name]) for name in NAMES}


def check(problem, sequences=None, **options):
    run = Run(problem, **options)
    got = run()
    expected = Gradients(problem, run.rows(run.dout), sequences)
    share = expected.compare(got)
    if sequences is None:
        for name, x in got.items():
            assert torch.isnan(expected.outside(name, x)).all(), \
                f"{name} was written outside"
    return f"{share:.0%} of the bound"


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
        # Up to 128 queries whose heads share no keys have a kernel of their own.
        for lq, heads in ((1, 4), (64, 4), (100, 4), (128, 4), (128, 2),
                          (100, 1), (129, 4), (300, 2), (512, 4)):
            k_len = [k for _, k in pairs]
            yield (f"broadcast {name} Lq {lq} heads 4/{heads}",
                   lambda o=options, n=lq, h=heads, k=k_len: check(
                       Problem("broadcast", [n] * len(k), k, (4, h), lead=5,
                               tail=200, **o)))
        for q, k in LENGTHS:
            # The bound is a maximum too, which a few numbers leave to chance.
            count = 3 if k > 64 else 32
            yield (f"dense {name} {q}x{k}", lambda o=options, q=q, k=k, n=count:
                   check(Problem("dense", [q] * n, [k] * n, (4, 2), **o)))


@test
def boundaries():
    """Lengths that are 64 mod 128, and around the tiles' edges."""
    lengths = [64, 192, 320, 448, 63, 65, 127, 129, 191, 193]
    for name, options in variants():
        pairs = with_empties(list(zip(lengths, reversed(lengths))))
        yield (f"64 mod 128 {name}", lambda o=options, p=pairs: check(
            Problem("jagged", *split(p), (4, 2), lead=64, tail=64, **o)))


@test
def inputs():
    pairs = with_empties(LENGTHS[:-1])
    for kind in ("x3", "x20", "constant", "outlier", "walk", "low"):
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
        run = Run(Problem("jagged", q_len, k_len, (4, 2), causal=causal))
        p, good = run.problem, run()
        for bad in (3, 7):
            for x, starts in ((p.tensors["q"], p.q_start),
                              (p.tensors["k"], p.k_start),
                              (p.tensors["v"], p.k_start),
                              (run.dout, p.o_start)):
                x[starts[bad]:starts[bad + 1]] = value
        run.o, run.lse = jfa.attention_forward(*run.inputs.values(),
                                               **options_of(p))
        got = run()
        for name, starts in (("dk", p.k_start), ("dv", p.k_start),
                             ("dq", p.q_start)):
            keep = torch.zeros(len(got[name]), dtype=torch.bool, device=DEVICE)
            keep[starts[0]:starts[-1]] = True
            for bad in (3, 7):
                keep[starts[bad]:starts[bad + 1]] = False
            a, b = got[name][keep].float(), good[name][keep].float()
            # Sums of dq may be taken in another order.
            same = torch.equal(a, b) if name != "dq" else \
                torch.allclose(a, b, rtol=2e-2, atol=2e-3)
            assert same, f"{name} of other sequences differs"

    for value, causal in itertools.product((NAN, float("-inf")), (False, True)):
        yield (f"sequences of {value} {'causal' if causal else 'full'}",
               lambda v=value, c=causal: body(v, c))


@test
def empties():

    def nothing(mode, pairs, heads=(4, 2)):
        for causal in (False, True):
            check(Problem(mode, *split(pairs), heads, causal=causal, tail=3))

    yield "no sequence", lambda: nothing("jagged", [])
    yield "every sequence empty", lambda: nothing("jagged", [(0, 0)] * 7)
    yield "no queries", lambda: nothing("jagged", [(0, 5), (0, 700)])
    yield "no keys", lambda: nothing("jagged", [(5, 0), (700, 0)])
    yield "either", lambda: nothing("jagged", [(5, 0), (0, 700), (130, 70),
                                               (0, 1), (1, 0)])
    yield "dense no keys", lambda: nothing("dense", [(300, 0)] * 2)
    yield "dense no queries", lambda: nothing("dense", [(0, 300)] * 2)
    yield "broadcast no keys", lambda: nothing("broadcast", [(130, 0)] * 3)
    yield "broadcast no sequence", lambda: nothing("broadcast", [])
    yield "more queries than keys", lambda: nothing(
        "jagged", [(300, 2), (129, 128), (1, 0), (500, 129)])


# ===--- Bits ------------------------------------------------------------=== #


def expect_same_bits(run, names, count):
    plan = run.make_plan()
    first = run(plan)
    for i in range(count):
        again = run(plan)
        for name in names:
            assert torch.equal(again[name], first[name]), \
                f"{name} of launch {i} differs"


@test
def repeatability():

    def body(mode, dim, causal, deterministic):
        pairs = with_empties(LENGTHS)
        if mode == "dense":
            pairs = [(1000, 1100)] * 3
        if mode in ("broadcast", "shared heads"):
            pairs = [(128, k) for _, k in pairs]
        # Queries whose heads share keys have the kernel for many queries.
        heads = (4, 4) if mode == "broadcast" else (4, 2)
        mode = "broadcast" if mode == "shared heads" else mode
        problem = Problem(mode, *split(pairs), heads, dim, causal=causal)
        run = Run(problem, deterministic)
        if deterministic:
            expect_same_bits(run, NAMES, 1000)
        else:
            expect_same_bits(run, NAMES[1:], 100)

    for mode, dim, causal in itertools.product(
            ("jagged", "dense", "broadcast", "shared heads"), (64, 128),
            (False, True)):
        what = f"{mode} D{dim} {'causal' if causal else 'full'}"
        yield (f"dk, dv of 100 launches {what}",
               lambda m=mode, d=dim, c=causal: body(m, d, c, False))
        yield (f"deterministic, 1000 launches {what}",
               lambda m=mode, d=dim, c=causal: body(m, d, c, True))


@test
def deterministic():
    """The deterministic mode's numbers, and its bits with and without the other
    sequences of the batch."""

    def alone(dim, causal, heads):
        run = Run(Problem("jagged", *split(with_empties(LENGTHS)), heads, dim,
                          causal=causal, lead=37, tail=200), True)
        p, all_of_them = run.problem, run()
        for b in range(p.batch):
            q_rows, k_rows = (slice(starts[b], starts[b + 1])
                              for starts in (p.q_start, p.k_start))
            got = jfa.attention_backward(
                *run.inputs.values(), run.o, run.lse, run.dout,
                p.q_offsets[b:b + 2].contiguous(),
                p.k_offsets[b:b + 2].contiguous(), causal=causal,
                scale=p.scale, deterministic=True)
            for name, x, rows in zip(NAMES, got, (q_rows, k_rows, k_rows)):
                assert torch.equal(x[rows], all_of_them[name][rows]), \
                    f"{name} of sequence {b} differs alone"

    def asked_by_torch():
        run = Run(Problem("jagged", *split(with_empties(LENGTHS)), (4, 2)))
        leaves = make_leaves(run.problem)
        torch.use_deterministic_algorithms(True)
        try:
            gradients = [differentiate(run, jfa.attention, leaves)[1]
                         for _ in range(20)]
        finally:
            torch.use_deterministic_algorithms(False)
        run.deterministic = True
        dq = run()["dq"]
        rows = slice(run.problem.q_start[0], run.problem.q_start[-1])
        for each in gradients:
            assert torch.equal(run.rows(each[0])[rows], dq[rows])

    pairs = with_empties(LENGTHS)
    for name, options in variants():
        for heads in ((4, 4), (6, 2)):
            yield (f"deterministic jagged {name} heads {heads}",
                   lambda o=options, h=heads: check(
                       Problem("jagged", *split(pairs), h, lead=37, tail=200,
                               **o), deterministic=True))
        yield (f"deterministic dense {name}", lambda o=options: check(
            Problem("dense", [1023] * 3, [1100] * 3, (4, 2), **o),
            deterministic=True))
        for lq, heads in ((1, 4), (100, 4), (128, 4), (128, 2), (129, 4),
                          (512, 1)):
            k_len = [k for _, k in pairs]
            yield (f"deterministic broadcast {name} Lq {lq} heads 4/{heads}",
                   lambda o=options, n=lq, h=heads, k=k_len: check(
                       Problem("broadcast", [n] * len(k), k, (4, h), lead=5,
                               tail=200, **o), deterministic=True))
    for mode, rows in (("jagged", [(0, 5), (5, 0)]), ("broadcast", []),
                       ("broadcast", [(130, 0)] * 3),
                       ("broadcast", [(100, 0)] * 3)):
        yield (f"deterministic {mode} without work: {rows}",
               lambda m=mode, r=rows: check(Problem(m, *split(r), (4, 4)),
                                            deterministic=True))
    # More key blocks of a sequence than there are multiprocessors.
    yield ("deterministic, one of 40000 keys", lambda: check(
        Problem("jagged", [700, 64], [40000, 64], (2, 1)), deterministic=True))
    for dim, causal, heads in itertools.product((64, 128), (False, True),
                                                ((4, 4), (4, 2))):
        yield (f"deterministic alone D{dim} {'causal' if causal else 'full'} "
               f"heads {heads}",
               lambda d=dim, c=causal, h=heads: alone(d, c, h))
    yield "deterministic because torch is", asked_by_torch


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
    yield ("B=1000000", lambda: check(
        Problem("jagged", lengths(10**6, 2), lengths(10**6, 2), (1, 1), 64)))
    for heads in (1, 2):
        yield (f"B=100000 broadcast heads 2/{heads}", lambda h=heads: check(
            Problem("broadcast", [3] * 100000, lengths(100000, 9), (2, h))))
    # 2^31 elements are 4194304 rows of 4 heads of 128.
    long = [2048] * 2100 + [1000, 77]
    some = [0, 1050, 2046, 2047, 2048, 2099, 2100, 2101]
    yield ("2^31 elements causal", lambda: check(
        Problem("jagged", long, long, (4, 4), causal=True, tail=64), some))


@test
def strides():

    def views(layout):
        run = Run(Problem("jagged", *split(with_empties(LENGTHS[:10])), (4, 4),
                          causal=True))
        p = run.problem
        rows = max(p.q_rows, p.k_rows)

        def parts(count):
            if layout == "qkv":
                base = torch.full((rows, count, 4, 128), NAN, dtype=p.dtype,
                                  device=DEVICE)
                return [base[:, i] for i in range(count)]
            base = torch.full((count, 4, rows, 128), NAN, dtype=p.dtype,
                              device=DEVICE)
            return [base[i].transpose(0, 1) for i in range(count)]

        inputs, outputs = parts(4), parts(3)
        for name, part in zip("qkv", inputs):
            part = part[:p.tensors[name].shape[0]]
            part.copy_(p.tensors[name])
            run.inputs[name] = part
        part = inputs[3][:p.o_rows]
        part.copy_(run.dout)
        run.dout = part
        got = {name: x[:n] for name, x, n in zip(
            NAMES, outputs, (p.q_rows, p.k_rows, p.k_rows))}
        plan = run.make_plan(**got)
        plan.bind(**{**run.tensors(plan), **got})()
        torch.cuda.synchronize()
        Gradients(p, run.dout).compare(got)

    for layout in ("qkv", "heads first"):
        yield f"strides {layout}", lambda w=layout: views(w)


# ===--- Refusals --------------------------------------------------------=== #


@test
def refusals():
    pairs = [(64, 128), (128, 192), (10, 20)]

    def good(**options):
        return Run(Problem("jagged", *split(pairs), (4, 2), **options))

    def wrong(name, change, argument=None):
        run = good()
        if name == "dout":
            run.dout = change(run.dout)
        else:
            run.inputs[name] = change(run.inputs[name])
        return expect_refusal(run.make_plan, argument or name)

    def wide(x):
        rows = torch.empty(x.shape[0], x.shape[1] * 128 + 4, dtype=x.dtype,
                           device=DEVICE)
        return torch.as_strided(rows, x.shape, (rows.stride(0), 128, 1))

    def falling():
        run = good()
        run.problem.k_offsets[1] = 300
        run.problem.k_offsets[2] = 250
        return expect_refusal(run.make_plan, "k_offsets")

    def at_execution(name, change):
        run = good()
        plan = run.make_plan()
        tensors = run.tensors(plan)
        argument = change(tensors) or name
        outputs = [tensors[n] for n in NAMES if tensors[n] is not None]
        return expect_refusal(lambda: plan.bind(**tensors)(), argument, outputs)

    def misalign(name):

        def change(t):
            x = t[name]
            t[name] = torch.empty(x.numel() + 8, dtype=x.dtype,
                                  device=DEVICE)[1:1 + x.numel()].view(x.shape)

        return change

    def short(t):
        t["workspace"] = t["workspace"][:-16]
        return "workspace_bytes"

    for name in ("q", "k", "v", "dout"):
        yield f"refuses {name} in fp32", lambda n=name: wrong(n, lambda x: x.float())
        yield (f"refuses rows of {name}",
               lambda n=name: wrong(n, wide, f"{n}_row_stride"))
    yield "refuses an expanded dout", lambda: wrong(
        "dout", lambda x: x[:1].expand(x.shape))
    yield "refuses dout that is one number", lambda: wrong(
        "dout", lambda x: x[:1, :1, :1].expand(x.shape))
    yield "refuses dout of another shape", lambda: wrong(
        "dout", lambda x: x[:-1])
    yield "refuses falling offsets", falling
    for name in ("q", "k", "v", "o", "dout", *NAMES):
        yield (f"refuses misaligned {name}",
               lambda n=name: at_execution(n, misalign(n)))
    for name in ("q_offsets", "k_offsets"):
        yield (f"refuses no {name}", lambda n=name: at_execution(
            n, lambda t: t.update({n: None})))
    yield "refuses a small workspace", lambda: at_execution("workspace", short)


# ===--- Autograd --------------------------------------------------------=== #


def make_leaves(p):
    return {n: p.shaped(n).clone().requires_grad_() for n in "qkv"}


def differentiate(run, function, leaves):
    p = run.problem
    o = function(*leaves.values(), p.q_offsets, p.k_offsets, causal=p.causal,
                 scale=p.scale)
    return o, torch.autograd.grad(o, list(leaves.values()), run.dout)


@test
def autograd():

    def problem(mode, causal, dtype):
        pairs = with_empties(LENGTHS[:9])
        if mode == "broadcast":
            pairs = [(100, k) for _, k in pairs]
        if mode == "dense":
            pairs = [(300, 200)] * 3
        return Problem(mode, *split(pairs), (4, 2), causal=causal, dtype=dtype,
                       lead=7, tail=9)

    def compare_all(run, o, gradients):
        compare(run.problem, run.rows(o.detach()), run.lse)
        got = {n: run.rows(x) for n, x in zip(NAMES, gradients)}
        expected = Gradients(run.problem, run.rows(run.dout))
        share = expected.compare(got)
        for name, x in got.items():
            assert (expected.outside(name, x) == 0).all(), \
                f"{name} is not 0 outside"
        return f"{share:.0%} of the bound"

    def body(mode, causal, dtype, function=None):
        run = Run(problem(mode, causal, dtype))
        leaves = make_leaves(run.problem)
        return compare_all(run, *differentiate(run, function or jfa.attention,
                                               leaves))

    def compiled(mode):
        torch._dynamo.reset()
        function = jfa.attention
        return body(mode, True, torch.bfloat16,
                    torch.compile(function, fullgraph=True))

    def in_fp64():
        """In f16, with directional derivatives of the formula in fp64."""
        run = Run(problem("dense", True, torch.float16))
        leaves = make_leaves(run.problem)
        _, got = differentiate(run, jfa.attention, leaves)
        wide = {n: x.detach().double().requires_grad_()
                for n, x in leaves.items()}
        q, k, v = (x.transpose(1, 2) for x in wide.values())
        k, v = (x.repeat_interleave(2, 1) for x in (k, v))
        n_q, n_k = q.shape[-2], k.shape[-2]
        hidden = torch.ones(n_q, n_k, dtype=torch.bool,
                            device=DEVICE).triu(n_k - n_q + 1)
        scores = (q @ k.transpose(-1, -2)) / 128**0.5
        p = torch.softmax(scores.masked_fill(hidden, -1e300), -1)
        p = p.masked_fill(hidden, 0.0)
        o = (p @ v).transpose(1, 2)
        expected = torch.autograd.grad(o, list(wide.values()),
                                       run.dout.double())
        for name, a, b in zip(NAMES, got, expected):
            error = (a.double() - b).norm() / b.norm()
            assert error < 2e-3, f"{name} is off by {error:.1e} of its norm"

    def expanded():
        """The gradient of a sum is one number, expanded."""
        p = problem("jagged", False, torch.bfloat16).make()
        leaves = make_leaves(p)
        jfa.attention(*leaves.values(), p.q_offsets, p.k_offsets).sum().backward()
        ones = torch.ones(p.o_rows, 4, 128, device=DEVICE, dtype=p.dtype)
        Gradients(p, ones).compare(
            {f"d{n}": x.grad for n, x in leaves.items()})

    def checked():
        p = problem("jagged", False, torch.bfloat16).make()
        leaves = make_leaves(p)
        torch.library.opcheck(
            torch.ops.jfa.attention_forward.default,
            (*leaves.values(), p.q_offsets, p.k_offsets, False, 0.1, False),
            test_utils=("test_schema", "test_autograd_registration",
                        "test_faketensor"))

    for mode, causal, dtype in itertools.product(
            ("jagged", "dense", "broadcast"), (False, True),
            (torch.bfloat16, torch.float16)):
        word = "causal" if causal else "full"
        yield (f"autograd {mode} {word} {str(dtype).split('.')[1]}",
               lambda m=mode, c=causal, d=dtype: body(m, c, d))
    yield "autograd against fp64", in_fp64
    yield "autograd of a sum", expanded
    for mode in ("jagged", "dense", "broadcast"):
        yield f"torch.compile {mode}", lambda m=mode: compiled(m)
    yield "torch.library.opcheck", checked


if __name__ == "__main__":
    sys.exit(main("the attention backward", __doc__))
