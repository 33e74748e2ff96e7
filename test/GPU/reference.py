# ===- reference.py - What attention should give ------------*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Inputs and references for attention tests, on torch tensors.

A problem holds packed tensors and offsets in every mode, so that one reference
serves them all: query rows `q_start[b] .. + q_len[b]` attend to key rows
`k_start[b] .. + k_len[b]` and go to output rows `o_start[b] .. + q_len[b]`.
"""

import math
from dataclasses import dataclass, field

import torch

LENGTHS = [(1, 1), (64, 128), (128, 192), (239, 1), (799, 3), (113, 203),
           (128, 217), (108, 256), (1023, 1024), (1024, 1023), (2048, 2048),
           (4224, 4224)]
DEVICE = "cuda"
NAN = float("nan")


@dataclass
class Problem:
    mode: str  # dense, jagged or broadcast
    q_len: list
    k_len: list
    heads: tuple = (4, 4)
    head_dim: int = 128
    dtype: torch.dtype = torch.bfloat16
    causal: bool = False
    scale: float = None
    kind: str = "normal"
    # Rows of NaN before the first sequence and after the last.
    lead: int = 0
    tail: int = 0
    seed: int = 0
    tensors: dict = field(default_factory=dict)

    def __post_init__(self):
        lead = self.lead if self.mode == "jagged" else 0
        k_lead = self.lead if self.mode != "dense" else 0
        self.q_start = _starts(self.q_len, lead)
        self.k_start = _starts(self.k_len, k_lead)
        self.o_start = self.q_start
        self.batch = len(self.q_len)
        if self.mode == "broadcast":
            self.q_rows = self.q_len[0] if self.batch else 128
            self.q_start = [0] * (self.batch + 1)
            self.o_start = [b * self.q_rows for b in range(self.batch + 1)]
            self.o_rows = self.o_start[-1]
        else:
            tail = self.tail if self.mode == "jagged" else 0
            self.q_rows = self.o_rows = self.q_start[-1] + tail
        k_tail = self.tail if self.mode != "dense" else 0
        self.k_rows = self.k_start[-1] + k_tail

    def make(self):
        """Fills in the tensors; returns self."""
        g = torch.Generator(device=DEVICE).manual_seed(self.seed)
        hq, hkv = self.heads

        def tensor(name, rows, heads, used):
            x = make_values(self.kind, name, (rows, heads, self.head_dim), g)
            x = x.to(self.dtype)
            x[:used[0]] = NAN
            x[used[1]:] = NAN
            return x

        q_used = (0, self.q_rows)
        if self.mode == "jagged":
            q_used = (self.q_start[0], self.q_start[-1])
        k_used = (self.k_start[0], self.k_start[-1])
        self.tensors = {
            "q": tensor("q", self.q_rows, hq, q_used),
            "k": tensor("k", self.k_rows, hkv, k_used),
            "v": tensor("v", self.k_rows, hkv, k_used),
        }
        self.q_offsets = self.k_offsets = None
        if self.mode == "jagged":
            self.q_offsets = _offsets(self.q_start)
        if self.mode != "dense":
            self.k_offsets = _offsets(self.k_start)
        return self

    def shaped(self, name):
        """A tensor in the shape the plan takes."""
        x = self.tensors[name]
        if self.mode != "dense":
            return x
        return x.view(self.batch, -1, *x.shape[1:])


def _starts(lengths, first):
    starts = [first]
    for n in lengths:
        starts.append(starts[-1] + n)
    return starts


def _offsets(starts):
    return torch.tensor(starts, dtype=torch.int32, device=DEVICE)


def make_values(kind, name, shape, generator):
    x = torch.randn(shape, device=DEVICE, generator=generator)
    if kind == "normal":
        return x
    if kind in ("x3", "x20"):  # the scores are scaled, not the values
        return x * float(kind[1:]) if name == "q" else x
    if kind == "low":  # all scores far below 0
        return {"q": 0.1 * x - 3, "k": 0.1 * x + 3}.get(name, x)
    if kind == "constant":
        return x[:1].expand(shape).clone()
    if kind == "outlier":
        if shape[0]:
            # Its score, the square, must stay finite in f16.
            x[shape[0] // 2, :, 3] = 100.0
        return x
    if kind == "walk":
        return x.cumsum(0) / math.sqrt(max(1, shape[0])) * 3
    raise ValueError(kind)


def attend(q, k, v, scale, causal, dtype):
    """[..., n, D] in `dtype` throughout: the formula with no fusion."""
    q, k, v = q.to(dtype), k.to(dtype), v.to(dtype)
    n_q, n_k = q.shape[-2], k.shape[-2]
    s = (q @ k.transpose(-1, -2)) * scale
    if causal:
        i = torch.arange(n_q, device=q.device)[:, None]
        j = torch.arange(n_k, device=q.device)
        s = s.masked_fill(j > i + (n_k - n_q), float("-inf"))
    lse = torch.logsumexp(s.float(), -1)
    p = torch.softmax(s, -1).nan_to_num(0.0) if causal else torch.softmax(s, -1)
    return p @ v, lse


def _gather(x, starts, n):
    """[G, heads, n, D] of the rows that begin at `starts`."""
    index = starts[:, None] + torch.arange(n, device=x.device)
    return x[index].transpose(1, 2)


def references(problem, sequences=None, chunk_elements=1 << 28):
    """Yields (output row indices [G, n], ref, low, lse) for groups of sequences
    of equal lengths; [G, H, n, D] each, lse [G, H, n]."""
    p = problem
    scale = p.scale or 1 / math.sqrt(p.head_dim)
    groups = {}
    for b in range(p.batch) if sequences is None else sequences:
        groups.setdefault((p.q_len[b], p.k_len[b]), []).append(b)
    repeat = p.heads[0] // p.heads[1]
    for (n_q, n_k), members in groups.items():
        if n_q == 0:
            continue
        size = max(1, chunk_elements // (n_q * max(n_k, 1) * p.heads[0]))
        for at in range(0, len(members), size):
            some = members[at:at + size]

            def pick(starts):
                return torch.tensor([starts[b] for b in some], device=DEVICE)

            rows = pick(p.o_start)[:, None] + torch.arange(n_q, device=DEVICE)
            q = _gather(p.tensors["q"], pick(p.q_start), n_q)
            if n_k == 0:
                zero = torch.zeros(q.shape, device=DEVICE)
                yield rows, zero, zero, zero[..., 0] - float("inf")
                continue
            k, v = (
                _gather(p.tensors[x], pick(p.k_start), n_k)
                .repeat_interleave(repeat, 1) for x in "kv")
            ref, lse = attend(q, k, v, scale, p.causal, torch.float32)
            low, _ = attend(q, k, v, scale, p.causal, p.dtype)
            yield rows, ref, low.float(), lse


def attend_gradients(q, k, v, dout, scale, causal, dtype):
    """dq, dk, dv of [..., n, D] in `dtype` throughout: the contract's formula with
    no fusion, every product of matrices rounded.

    delta comes from the outputs as they are stored, as the contract says. Where
    keys have much in common (random walks), their rounding decides on the error
    of dq: rows of dS no longer sum to 0."""
    q, k, v, dout = (x.to(dtype) for x in (q, k, v, dout))
    n_q, n_k = q.shape[-2], k.shape[-2]
    s = (q @ k.transpose(-1, -2)) * scale
    if causal:
        i = torch.arange(n_q, device=q.device)[:, None]
        j = torch.arange(n_k, device=q.device)
        s = s.masked_fill(j > i + (n_k - n_q), float("-inf"))
    p = torch.softmax(s, -1)
    if causal:
        p = p.nan_to_num(0.0)
    dv = p.transpose(-1, -2) @ dout
    dp = dout @ v.transpose(-1, -2)
    delta = (dout.float() * (p @ v).float()).sum(-1, keepdim=True)
    ds = (p.float() * (dp.float() - delta)).to(dtype) * scale
    return ds @ k, ds.transpose(-1, -2) @ q, dv


class Gradients:
    """What the backward should give for some sequences: by name, the rows that
    they own, and `ref` and `low` for those as fp32 tensors."""

    def __init__(self, problem, dout, sequences=None, chunk_elements=1 << 27):
        p = self.problem = problem
        sequences = range(p.batch) if sequences is None else sequences
        self.rows, self.starts = {}, {}
        self._own("dq", p.q_start, p.q_len, sequences)
        self._own("dk", p.k_start, p.k_len, sequences)
        if p.mode == "broadcast":
            self.rows["dq"] = torch.arange(p.q_rows, device=DEVICE)
            self.starts["dq"] = dict.fromkeys(sequences, 0)
        self.rows["dv"], self.starts["dv"] = self.rows["dk"], self.starts["dk"]
        heads = dict(zip(("dq", "dk", "dv"), (*p.heads, p.heads[1])))
        self.ref, self.low = (
            {n: torch.zeros(len(rows), heads[n], p.head_dim, device=DEVICE)
             for n, rows in self.rows.items()} for _ in range(2))
        # Which rows see a key, or are seen by a query.
        self.seen = {n: torch.zeros(len(rows), dtype=torch.bool, device=DEVICE)
                     for n, rows in self.rows.items()}
        groups = {}
        for b in sequences:
            groups.setdefault((p.q_len[b], p.k_len[b]), []).append(b)
        for (n_q, n_k), members in groups.items():
            if n_q == 0 or n_k == 0:
                continue
            size = max(1, chunk_elements // (n_q * n_k * p.heads[0]))
            for at in range(0, len(members), size):
                self._add(members[at:at + size], n_q, n_k, dout)
        for name, low in self.low.items():
            self.low[name] = low.to(p.dtype).float()

    def _own(self, name, starts, lengths, sequences):
        """Numbers the rows of the sequences from 0 on."""
        at, places, parts = 0, {}, [torch.arange(0)]
        for b in sequences:
            places[b] = at
            at += lengths[b]
        if len(sequences) == self.problem.batch:
            parts.append(torch.arange(starts[0], starts[-1]))
        else:
            parts += [torch.arange(starts[b], starts[b] + lengths[b])
                      for b in sequences]
        self.rows[name], self.starts[name] = torch.cat(parts).to(DEVICE), places

    def _add(self, some, n_q, n_k, dout):
        p = self.problem
        scale = p.scale or 1 / math.sqrt(p.head_dim)
        repeat = p.heads[0] // p.heads[1]

        def pick(starts):
            return torch.tensor([starts[b] for b in some], device=DEVICE)

        def places(name, count):
            return (pick(self.starts[name])[:, None] +
                    torch.arange(count, device=DEVICE))

        q = _gather(p.tensors["q"], pick(p.q_start), n_q)
        k, v = (_gather(p.tensors[x], pick(p.k_start), n_k)
                .repeat_interleave(repeat, 1) for x in "kv")
        do = _gather(dout, pick(p.o_start), n_q)
        blind = max(0, n_q - n_k) if p.causal else 0
        for name, count in (("dq", n_q), ("dk", n_k), ("dv", n_k)):
            first = blind if name == "dq" else 0
            self.seen[name][places(name, count)[:, first:]] = True
        for into, dtype in ((self.ref, torch.float32), (self.low, p.dtype)):
            gradients = attend_gradients(q, k, v, do, scale, p.causal, dtype)
            for name, x in zip(("dq", "dk", "dv"), gradients):
                x = x.float()
                if name != "dq":  # the query heads of a group add up
                    x = x.unflatten(1, (p.heads[1], repeat)).sum(2)
                into[name].index_add_(0, places(name, x.shape[2]).flatten(),
                                      x.transpose(1, 2).flatten(0, 1))

    def outside(self, name, x):
        """The rows of a gradient that belong to none of the sequences."""
        keep = torch.ones(len(x), dtype=torch.bool, device=DEVICE)
        keep[self.rows[name]] = False
        return x[keep]

    def compare(self, got):
        """Raises AssertionError unless the gradients `got`, by name, are right;
        returns the largest share of the bound."""
        share = 0.0
        for name, x in got.items():
            ref, low, x = self.ref[name], self.low[name], x[self.rows[name]].float()
            worst = Worst(name)
            worst.add(x, ref, low)
            assert (x[~self.seen[name]] == 0).all(), \
                f"{name} is not 0 where nothing is seen"
            error, bound = worst.check()
            share = max(share, error / bound if bound else 0.0)
        return share


def max_abs(x):
    return x.abs().max().item() if x.numel() else 0.0


class Worst:
    """The largest error of a result that comes in parts, and how much the
    contract allows: see docs/Attention.md, "When a result is right"."""

    def __init__(self, name):
        self.name = name
        self.error = self.low_error = self.slack = 0.0

    def add(self, got, ref, low):
        assert torch.isfinite(got).all(), f"{self.name} has values that are not finite"
        assert torch.isfinite(low).all(), "the bound itself is not finite"
        self.error = max(self.error, max_abs(got - ref))
        self.low_error = max(self.low_error, max_abs(low.float() - ref))
        self.slack = max(self.slack, max_abs(ref + 0.3 - 0.3 - ref))

    def check(self):
        """Raises AssertionError unless the result is right; returns error and
        bound."""
        bound = 2 * self.low_error + 2 * self.slack
        assert self.error <= bound, \
            f"{self.name} is off by {self.error:.3e}, allowed {bound:.3e}"
        return self.error, bound


def compare(problem, o, lse, sequences=None):
    """Raises AssertionError unless `o` and `lse` are right; returns the largest
    error and its bound. `o` is [rows, H, D], `lse` [H, rows]."""
    worst = Worst("o")
    lse_error = 0.0
    for rows, ref, low, ref_lse in references(problem, sequences):
        got = o[rows].transpose(1, 2).float()
        worst.add(got, ref, low)
        got_lse = lse[:, rows].transpose(0, 1)
        none = torch.isinf(ref_lse)
        assert torch.equal(got_lse[none], ref_lse[none]), \
            "lse is not -inf where a row sees no key"
        assert (got.masked_select(none[..., None].expand_as(got)) == 0).all(), \
            "o is not 0 where a row sees no key"
        lse_error = max(lse_error, max_abs((got_lse - ref_lse)[~none]))
        assert not torch.isnan(got_lse).any(), "lse has NaN"
    assert lse_error <= 1e-3, f"lse is off by {lse_error:.3e}, allowed 1e-3"
    return worst.check()
