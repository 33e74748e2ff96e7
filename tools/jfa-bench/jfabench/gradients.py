# ===- gradients.py - Ours and the peers, backward ---------- -*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""The backward of our kernel and of its peers, as jfabench.peers has the forward.
A peer's backward is what torch makes of its forward; a call's result is dq, dk and
dv as `[rows, H, D]`."""

import torch

import jfa

from . import peers
from .inputs import Inputs, turn


class GradientInputs(Inputs):
    """The tensors of a shape, of which q and k have been rotated if there are
    angles, with a gradient of the output."""

    # q, k, v and dO, and the gradients of q, k and v.
    tensors_moved = 7

    def __init__(self, shape):
        super().__init__(shape)
        g = torch.Generator(device=self.q.device).manual_seed(1)
        self.dout = torch.randn(sum(shape.q_len), *self.q.shape[1:],
                                device=self.q.device, dtype=self.q.dtype,
                                generator=g)

    def error(self, gradients):
        """The largest difference of the gradients from fp32, as a share of the
        largest value of each, on a sample of sequences and heads."""
        s = self.shape
        every = range(len(s.k_len))
        longest = max(every, key=lambda b: s.k_len[b])
        shared = s.mode == "broadcast"
        # Of shared queries all sequences have a share in dq.
        some = every if shared else sorted({0, longest, len(every) - 1})
        heads = (0,) if shared else (0, s.heads - 1)
        return max(self._error(gradients, some, h) for h in heads)

    def _error(self, gradients, sequences, head):
        s = self.shape
        dq, dk, dv = (x[:, head].detach().float() for x in gradients)
        q_start, k_start = self.q_offsets.tolist(), self.k_offsets.tolist()
        shared_dq, worst = torch.zeros_like(self.q[:, head].float()), 0.0

        def compare(got, wanted):
            difference = (got - wanted).abs().max() / wanted.abs().max()
            return max(worst, difference.item())

        for b in sequences:
            rows = slice(q_start[b], q_start[b + 1])
            keys = slice(k_start[b], k_start[b + 1])
            wanted = self._gradients(rows, keys, head)
            worst = compare(dk[keys], wanted[1])
            worst = compare(dv[keys], wanted[2])
            if s.mode == "broadcast":
                shared_dq += wanted[0]
            else:
                worst = compare(dq[rows], wanted[0])
        return compare(dq, shared_dq) if s.mode == "broadcast" else worst

    def _gradients(self, rows, keys, head):
        s = self.shape
        of_q = slice(None) if s.mode == "broadcast" else rows
        q, k, v = (x[part, head].detach().float() for x, part in
                   ((self.q, of_q), (self.k, keys), (self.v, keys)))
        dout, scale = self.dout[rows, head].float(), s.head_dim**-0.5
        scores = q @ k.T * scale
        if s.causal:
            hidden = torch.ones_like(scores, dtype=torch.bool)
            hidden = hidden.triu(len(k) - len(q) + 1)
            scores.masked_fill_(hidden, float("-inf"))
        p = torch.softmax(scores, -1)
        dp = dout @ v.T
        ds = p * (dp - (p * dp).sum(-1, keepdim=True)) * scale
        dq, dk = ds @ k, ds.T @ q
        if self.sincos is not None:
            dq, dk = (turn(x[:, None], self.sincos[rows], -1)[:, 0]
                      for x in (dq, dk))
        return dq, dk, p.T @ dout


def _block(inputs, rotary, sincos, **options):
    q, k, v = (x.detach() for x in (inputs.q, inputs.k, inputs.v))
    plan = jfa.BlockAttentionBackwardPlan(
        q, k, v, inputs.offsets(inputs.shape.sequences), rotary=rotary,
        **options)
    outputs = plan.make_outputs()
    launch = plan.bind(q, k, v, inputs.dout, *outputs, sincos=sincos)

    def call():
        launch()
        return outputs

    call.facts = plan.facts()
    return call, lambda outs: outs


def ours(inputs, work_order=0, deterministic=False):
    s = inputs.shape
    if s.mode == "block" and deterministic:
        raise peers.Unsuitable  # there is no other mode
    if s.mode == "block":
        return _block(inputs, "qk" if s.rotary else None, inputs.sincos)
    shaped, offsets = peers.arguments(inputs)
    q, k, v = (x.detach() for x in shaped)
    o, lse = jfa.attention_forward(q, k, v, causal=s.causal, **offsets)
    dout = inputs.dout.view(o.shape)
    plan = jfa.AttentionBackwardPlan(q, k, v, causal=s.causal,
                                     work_order=work_order,
                                     deterministic=deterministic, **offsets)
    outputs = plan.make_outputs()
    launch = plan.bind(q, k, v, o, lse, dout, *outputs, **offsets)

    def call():
        launch()
        return outputs

    call.facts = plan.facts()
    return call, lambda outs: [x.view(-1, *x.shape[-2:]) for x in outs]


def backward_of(make):
    """The backward of a peer of the forward."""

    def peer(inputs):
        for x in (inputs.q, inputs.k, inputs.v):
            x.requires_grad_()
        forward, to_rows = make(inputs)
        leaves = getattr(forward, "leaves", (inputs.q, inputs.k, inputs.v))
        for x in leaves:
            x.requires_grad_()
        out = forward()
        if to_rows:
            # The gradient of the output in the layout that the output has.
            dout, = torch.autograd.grad(to_rows(out), out, inputs.dout)
        else:
            dout = torch.randn_like(out)
        call = lambda: torch.autograd.grad(out, leaves, dout, retain_graph=True)
        return call, (lambda gradients: gradients) if to_rows else None

    return peer


def then_turned_back(make):
    """A backward, and after it what torch.compile makes of undoing the
    rotation."""

    def peer(inputs):
        if not inputs.shape.rotary:
            raise peers.Unsuitable
        backward, to_rows = make(inputs)
        turn_back = torch.compile(
            lambda dq, dk: (turn(dq, inputs.sincos, -1),
                            turn(dk, inputs.sincos, -1)))

        def call():
            dq, dk, dv = backward()
            return (*turn_back(dq, dk), dv)

        return call, to_rows

    return peer


def _not_turned_back(inputs):
    """Ours without undoing the rotation: what that costs."""
    if not inputs.shape.rotary:
        raise peers.Unsuitable
    call, _ = _block(inputs, None, None)
    return call, None


def _rotating(inputs):
    """Ours where q and k come unrotated."""
    if not inputs.shape.rotary:
        raise peers.Unsuitable
    call, _ = _block(inputs, "qk", inputs.sincos, rotate_inputs=True)
    return call, None


PEERS = {"jfa": ours}
for _name in ("cudnn", "fa2", "cudnn padded", "flex"):
    PEERS[_name] = backward_of(peers.PEERS[_name])
PEERS["jfa deterministic"] = lambda inputs: ours(inputs, deterministic=True)
PEERS["jfa unrotated"] = _not_turned_back
PEERS["jfa rotating"] = _rotating
PEERS["jfa + rotary"] = then_turned_back(
    lambda inputs: _block(inputs, None, None))
PEERS["fa2 + rotary"] = then_turned_back(backward_of(peers.fa2))
PEERS["copy"] = peers.copy
