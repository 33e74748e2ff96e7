# ===- __init__.py - JFA's attention kernels on torch tensors *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""JFA's attention kernels on torch tensors.

A thin layer over the C interface, `libjfa.so`, which it finds by the variable
JFA_LIBRARY or beside itself; see `jfa-c/Runtime.h` for what each call promises.
"""

from ._library import JFAError, kernels, load_kernels, version
from .attention import AttentionForwardPlan, attention_forward
from .block_attention import (BlockAttentionBackwardPlan,
                              BlockAttentionForwardPlan, block_attention,
                              block_attention_forward)

__all__ = [
    "AttentionForwardPlan",
    "BlockAttentionBackwardPlan",
    "BlockAttentionForwardPlan",
    "JFAError",
    "attention_forward",
    "block_attention",
    "block_attention_forward",
    "kernels",
    "load_kernels",
    "version",
]
