# ===- shapes.py - The shapes the kernels are judged on -----*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""The shapes the kernels are judged on. Nothing here needs a GPU."""

from dataclasses import dataclass, replace


@dataclass
class Shape:
    """One workload. `q_len` and `k_len` are the sequences' lengths."""

    name: str
    mode: str  # dense, jagged, broadcast or block
    q_len: list
    k_len: list
    heads: int
    head_dim: int
    causal: bool
    # Of a skewed shape: one of equal lengths that takes as many FLOPs.
    twin: "Shape" = None
    # Of block attention: the sequences, of which the lengths above are the blocks,
    # and whether q and k are rotated, which the backward undoes.
    sequences: list = None
    rotary: bool = False

    @property
    def problem(self):
        """What a kernel for this shape is specialised for, beside its type."""
        return {
            "HEAD_DIM": str(self.head_dim),
            "CAUSAL": str(self.causal).lower(),
            "JAGGED": str(self.mode != "dense").lower(),
            "BROADCAST_QUERY": str(self.mode == "broadcast").lower(),
        }

    @property
    def flops(self):
        pairs = sum(q * k for q, k in zip(self.q_len, self.k_len))
        full = 4.0 * self.head_dim * self.heads * pairs
        return full / 2 if self.causal else full

    def count_bytes(self, tensors):
        """What block attention has to move, with 16-bit elements: as many tensors
        like q, once, and the angles. Memory does not bound the others."""
        if self.mode != "block":
            return None
        heads = tensors * self.heads + (1 if self.rotary else 0)
        return 2 * sum(self.q_len) * heads * self.head_dim


def user_histories(count, longest, mean_fraction, seed=1):
    """Lengths as those of user histories: log-normal, so with a long tail."""
    import torch
    g = torch.Generator().manual_seed(seed)
    x = torch.exp(torch.randn(count, generator=g) * 0.9)
    x = x / x.mean() * mean_fraction * longest
    return x.clamp(1, longest).round().to(torch.int64).tolist()


def equal_twin(shape):
    """As many sequences of one length each, which take as many FLOPs, dense."""
    pairs = sum(q * k for q, k in zip(shape.q_len, shape.k_len))
    count = len(shape.q_len)
    length = round((pairs / count) ** 0.5)
    return Shape(f"equal twin B{count} S{length} of {shape.name}", "dense",
                 [length] * count, [length] * count, shape.heads,
                 shape.head_dim, shape.causal)


def skewed_shapes():
    """Shapes that a jagged kernel may be bad at, each with its equal twin."""
    result = []
    for what, lengths in (("n8192 of 34", [34] * 8192),
                          ("one 65536 n1000 of 64", [65536] + [64] * 1000)):
        shape = Shape(f"skewed self {what} H4 D128 full", "jagged", lengths,
                      lengths, 4, 128, False)
        result.append(replace(shape, twin=equal_twin(shape)))
    return result


def block_shape(what, sequences, heads, dim, rotary=False):
    blocks = [min(64, length - row) for length in sequences
              for row in range(0, length, 64)]
    name = f"block {what} T{sum(sequences)} H{heads} D{dim}"
    return Shape(name + (" rotary" if rotary else ""), "block", blocks, blocks,
                 heads, dim, False, sequences=sequences, rotary=rotary)


def block_shapes():
    """Block attention, which memory bounds."""
    users = user_histories(1152, 4096, 0.3)
    return [
        block_shape("n1152 max4096", users, 4, 128),
        block_shape("n1152 max4096", users, 4, 64),
        block_shape("n1152 max4096", users, 8, 64),
        block_shape("n576 max4096", users[:576], 8, 128),
        block_shape("n16384 of 64", [64] * 16384, 4, 128),
        block_shape("one", [1000000], 4, 128),
    ]


def rotary_shapes():
    """Those whose q and k are rotated."""
    users = user_histories(1152, 4096, 0.3)
    return [block_shape("n1152 max4096", users, 4, dim, rotary=True)
            for dim in (128, 64)]


def tuning_shapes():
    """What the specialisations are tuned on: all shapes, and jagged ones for each
    head dimension and mask that is shipped."""
    result = all_shapes()
    for shape in all_shapes():
        if shape.mode == "dense" or shape.twin:
            continue
        for dim, causal in ((128, True), (64, False), (64, True)):
            name = shape.name.replace(" full", "").replace(" D128", f" D{dim}")
            result.append(
                replace(shape, name=f"{name} {'causal' if causal else 'full'}",
                        head_dim=dim, causal=causal))
    # A query for which the table has a kernel of its own.
    lengths = user_histories(256, 4096, 0.3)
    for causal in (False, True):
        word = "causal" if causal else "full"
        result.append(Shape(f"jagged bcastQ Lq160 n256 D64 {word}", "broadcast",
                            [160] * 256, lengths, 4, 64, causal))
    return result


def dense_shapes(batch, heads, length, dim):
    """As many sequences of one length, full and causal."""
    lengths = [length] * batch
    return [Shape(f"dense B{batch} H{heads} S{length} D{dim} {word}", "dense",
                  lengths, lengths, heads, dim, word == "causal")
            for word in ("full", "causal")]


def all_shapes():
    result = []
    for dim, heads in ((128, 16), (64, 32)):
        for batch, length in ((16, 1024), (4, 4096), (1, 16384)):
            result += dense_shapes(batch, heads, length, dim)
    for count, longest, fraction in ((256, 4096, 0.3), (1024, 1024, 0.5)):
        lengths = user_histories(count, longest, fraction)
        what = f"n{count} max{longest} T{sum(lengths)} H4 D128"
        result.append(
            Shape(f"jagged self {what} full", "jagged", lengths, lengths, 4, 128,
                  False))
        for rows in (128, 512):
            result.append(
                Shape(f"jagged bcastQ Lq{rows} {what}", "broadcast",
                      [rows] * count, lengths, 4, 128, False))
    return result + skewed_shapes()
