# ===- block_attention.py - Block attention on torch tensors -*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Block attention on torch tensors."""

import ctypes as C

import torch

from . import _library
from .attention import _ELEMENT_TYPES, _check_tensor, _refuse, _strides


class BlockAttentionForwardPlan:
    """The forward for one shape: made once, then called any number of times.

    `q`, `k`, `v` are tensors `[T, H, D]` (or stand-ins on the same device) of the
    shapes and strides the plan is for, `offsets` an int32 tensor `[B + 1]`; one on
    a GPU is copied to the host, which waits for it. `o`, if given, sets the
    strides of the output.
    """

    def __init__(self, q, k, v, offsets, *, scale=None, o=None):
        if q.dtype not in _ELEMENT_TYPES:
            _refuse("q", f"to have dtype bfloat16 or float16, but got {q.dtype}")
        self.device = q.device
        if self.device.type != "cuda":
            _refuse("q", f"to be on a GPU, but got {self.device}")
        if scale == 0:
            _refuse("scale", "to be positive, but got 0")
        self.dtype = q.dtype
        self.shape = list(q.shape)
        self._plan = C.c_void_p()
        d = _library.BlockAttentionForwardDescription()
        d.struct_size = C.sizeof(d)
        d.element_type = _ELEMENT_TYPES[self.dtype]
        d.scale = scale or 0.0
        _check_tensor("q", q, self.dtype, self.device, [None] * 3)
        _check_tensor("k", k, self.dtype, self.device,
                      [q.shape[0], None, q.shape[2]])
        _check_tensor("v", v, self.dtype, self.device, list(k.shape))
        _, d.num_query_heads, d.head_dim = q.shape
        d.num_kv_heads = k.shape[1]
        host = self._host(offsets)
        d.offsets = host.data_ptr()
        d.batch_size = host.shape[0] - 1
        tensors = {"q": q, "k": k, "v": v}
        if o is not None:
            _check_tensor("o", o, self.dtype, self.device, self.shape)
            tensors["o"] = o
        for name, tensor in tensors.items():
            row, head = _strides(tensor)
            setattr(d, f"{name}_row_stride", row)
            setattr(d, f"{name}_head_stride", head)
        self._strides = {n: t.stride() for n, t in tensors.items()}
        _library.call("jfaBlockAttentionForwardPlanCreate", C.byref(d),
                      self.device.index, C.byref(self._plan))
        self.workspace = self.make_workspace()

    def __del__(self):
        if getattr(self, "_plan", None):
            _library.call("jfaBlockAttentionForwardPlanDestroy", self._plan)

    def _host(self, offsets):
        """A copy on the host."""
        if offsets.dtype != torch.int32:
            _refuse("offsets", f"to have dtype torch.int32, but got "
                    f"{offsets.dtype}")
        if offsets.dim() != 1 or offsets.shape[0] < 1:
            _refuse("offsets", f"to have the shape [batch size + 1], but got "
                    f"{list(offsets.shape)}")
        host = offsets.cpu().contiguous()
        if int(host[-1]) > self.shape[0]:
            _refuse("offsets", f"to end within the {self.shape[0]} rows of 'q', "
                    f"but got {int(host[-1])}")
        return host

    def facts(self):
        """What the plan launches, as a dictionary."""
        facts = _library.KernelFacts(
            struct_size=C.sizeof(_library.KernelFacts))
        _library.call("jfaBlockAttentionForwardPlanGetFacts", self._plan,
                      C.byref(facts))
        return facts.to_dict()

    def workspace_bytes(self):
        size = C.c_size_t()
        _library.call("jfaBlockAttentionForwardPlanGetWorkspaceSize",
                      self._plan, C.byref(size))
        return size.value

    def make_workspace(self):
        """A new workspace, filled on the current stream."""
        size = self.workspace_bytes()
        workspace = torch.empty(size, dtype=torch.uint8, device=self.device)
        stream = torch.cuda.current_stream(self.device).cuda_stream
        _library.call("jfaBlockAttentionForwardPlanInitializeWorkspace",
                      self._plan, workspace.data_ptr(), size, stream)
        return workspace

    def bind(self, q, k, v, o, workspace=None):
        """Checks tensors against the plan; the result launches on the current
        stream each time it is called."""
        buffers = _library.BlockAttentionForwardBuffers()
        buffers.struct_size = C.sizeof(buffers)
        packed = torch.empty(self.shape, device="meta").stride()
        for name, tensor in {"q": q, "k": k, "v": v, "o": o}.items():
            _check_tensor(name, tensor, self.dtype, self.device, self.shape)
            wanted = self._strides.get(name, packed)
            if tensor.stride() != wanted:
                _refuse(name, f"to have the plan's strides {list(wanted)}, but "
                        f"got {list(tensor.stride())}")
            setattr(buffers, name, tensor.data_ptr())
        workspace = self.workspace if workspace is None else workspace
        size = workspace.numel() * workspace.element_size()
        # The tensors live as long as the function that uses their addresses.
        keep = (q, k, v, o, workspace)

        def launch():
            stream = torch.cuda.current_stream(self.device).cuda_stream
            _library.call("jfaBlockAttentionForwardExecute", self._plan,
                          C.byref(buffers), keep[-1].data_ptr(), size, stream)

        return launch

    def __call__(self, q, k, v, o=None):
        """Launches on the current stream; returns `o`."""
        if o is None:
            o = torch.empty(self.shape, dtype=self.dtype, device=self.device)
        self.bind(q, k, v, o)()
        return o


def block_attention_forward(q, k, v, offsets, *, scale=None):
    """softmax(scale * Q K^T) V within blocks of 64 rows of each sequence.

    The shapes are those of BlockAttentionForwardPlan, which is better used
    directly where one shape runs often. Rows of no sequence are not written.
    """
    return BlockAttentionForwardPlan(q, k, v, offsets, scale=scale)(q, k, v)
