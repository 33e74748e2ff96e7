# ===- __init__.py - JFA's attention kernels on torch tensors *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""JFA's attention kernels on torch tensors.

A thin layer over the C interface, `libjfa.so`, which it finds by the variable
JFA_LIBRARY or beside itself; see `jfa-c/Runtime.h` for what each call promises.
torch is imported with the first name that needs it.
"""

import importlib

from ._library import JFAError, kernels, load_kernels, version

# Where the names are that need torch.
_NEED_TORCH = {
    "AttentionBackwardPlan": "backward",
    "AttentionForwardPlan": "forward",
    "BlockAttentionBackwardPlan": "block",
    "BlockAttentionForwardPlan": "block",
    "attention": "autograd",
    "attention_backward": "backward",
    "attention_forward": "forward",
    "block_attention": "block_autograd",
    "block_attention_forward": "block",
}

__all__ = [
    *_NEED_TORCH,
    "JFAError",
    "kernels",
    "load_kernels",
    "version",
]


def __getattr__(name):
    if name not in _NEED_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f".{_NEED_TORCH[name]}", __name__)
    return getattr(module, name)
