# ===- sides.py - The forward and the backward -------------- -*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""What differs between measuring the forward and measuring the backward. Nothing
here needs a GPU until load() is called."""

import types
from dataclasses import dataclass


@dataclass(frozen=True)
class Side:
    direction: str
    # In lib/Kernels/attention/sm90, or sm100: the source, and its tables.
    source: str
    specializations: str
    candidates: str
    # FLOPs, in those of the forward.
    flops: float

    def load(self):
        """What needs a GPU: Inputs, PEERS, ours, Unsuitable."""
        from .peers import Unsuitable
        if self.direction == "backward":
            from .gradients import PEERS, GradientInputs, ours
            return types.SimpleNamespace(Inputs=GradientInputs, PEERS=PEERS,
                                         ours=ours, Unsuitable=Unsuitable)
        from .inputs import Inputs
        from .peers import PEERS, ours
        return types.SimpleNamespace(Inputs=Inputs, PEERS=PEERS, ours=ours,
                                     Unsuitable=Unsuitable)


FORWARD = Side("forward", "fwd.mlir", "specializations.txt", "candidates.txt", 1)
# Two products of matrices forward, five backward.
BACKWARD = Side("backward", "bwd.mlir", "bwd.specializations.txt",
                "bwd.candidates.txt", 2.5)
