# ===- attention.py - The attention forward on torch tensors *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""The attention forward on torch tensors."""

import ctypes as C

import torch

from . import _library
from ._library import JFAError

_ELEMENT_TYPES = {torch.bfloat16: 0, torch.float16: 1}
_DENSE, _JAGGED, _BROADCAST_QUERY = 0, 1, 2


def _refuse(name, rest):
    raise JFAError(f"expected '{name}' {rest}", name)


def _check_tensor(name, tensor, dtype, device, shape):
    """Checks what the C interface cannot see; None in a shape is any size."""
    if tensor.dtype != dtype:
        _refuse(name, f"to have dtype {dtype}, but got {tensor.dtype}")
    if tensor.device != device:
        _refuse(name, f"to be on {device}, but got {tensor.device}")
    sizes = list(tensor.shape)
    if len(sizes) != len(shape) or any(
        w is not None and s != w for s, w in zip(sizes, shape)
    ):
        wanted = ["any" if w is None else w for w in shape]
        _refuse(name, f"to have the shape {wanted}, but got {sizes}")
    if tensor.numel() and tensor.stride(-1) != 1:
        _refuse(name, f"to be contiguous in its last dimension, but got the "
                f"stride {tensor.stride(-1)}")


def _rows(name, tensor):
    """A dense [B, S, H, D] tensor as [B * S, H, D], without a copy."""
    try:
        return tensor.view(-1, *tensor.shape[2:])
    except RuntimeError:
        _refuse(name, f"to have sequences back to back, but got the strides "
                f"{list(tensor.stride())}")


def _strides(tensor):
    """Row and head stride for the C interface, where 0 is the default."""
    # The stride of an axis of size 1 means nothing, and torch may put anything.
    row = tensor.stride(0) if tensor.shape[0] > 1 else 0
    head = tensor.stride(1) if tensor.shape[1] > 1 else 0
    return row, head


class AttentionForwardPlan:
    """The forward for one shape: made once, then called any number of times.

    `q`, `k`, `v` are tensors (or stand-ins on the same device) of the shapes
    and strides the plan is for:

    * dense: `[B, S, H, D]`, without offsets;
    * jagged: `[T, H, D]`, with `q_offsets` and `k_offsets`;
    * broadcast query: `q` is `[Lq, H, D]`, with `k_offsets` only.

    Offsets are int32 tensors `[B + 1]`; ones on a GPU are copied to the host,
    which waits for it. `o`, if given, sets the strides of the output. A
    `work_order` other than 0 is for measurements: a jfaWorkOrder.
    """

    def __init__(self, q, k, v, q_offsets=None, k_offsets=None, *,
                 causal=False, scale=None, o=None, work_order=0):
        if q.dtype not in _ELEMENT_TYPES:
            _refuse("q", f"to have dtype bfloat16 or float16, but got {q.dtype}")
        self.device = q.device
        if self.device.type != "cuda":
            _refuse("q", f"to be on a GPU, but got {self.device}")
        self.dtype = q.dtype
        self.q_shape, self.k_shape = list(q.shape), list(k.shape)
        self._plan = C.c_void_p()
        description = self._describe(q, k, q_offsets, k_offsets)
        description.causal = bool(causal)
        description.work_order = work_order
        description.scale = scale or 0.0
        if scale == 0:
            _refuse("scale", "to be positive, but got 0")
        self._check(q, k, v)
        tensors = {"q": q, "k": k, "v": v}
        if o is not None:
            _check_tensor("o", o, self.dtype, self.device, self.o_shape)
            tensors["o"] = o
        for name, tensor in tensors.items():
            rows = _rows(name, tensor) if self.mode == _DENSE else tensor
            row, head = _strides(rows)
            setattr(description, f"{name}_row_stride", row)
            setattr(description, f"{name}_head_stride", head)
        self._strides = {n: t.stride() for n, t in tensors.items()}
        _library.call("jfaAttentionForwardPlanCreate", C.byref(description),
                      self.device.index, C.byref(self._plan))
        self.workspace = self.make_workspace()

    def __del__(self):
        if getattr(self, "_plan", None):
            _library.call("jfaAttentionForwardPlanDestroy", self._plan)

    def _describe(self, q, k, q_offsets, k_offsets):
        d = _library.AttentionForwardDescription()
        d.struct_size = C.sizeof(d)
        d.element_type = _ELEMENT_TYPES[self.dtype]
        if q_offsets is None and k_offsets is None:
            self.mode = _DENSE
            _check_tensor("q", q, self.dtype, self.device, [None] * 4)
            _check_tensor("k", k, self.dtype, self.device,
                          [q.shape[0], None, None, q.shape[3]])
            d.batch_size, d.q_length, d.k_length = *q.shape[:2], k.shape[1]
            self.o_shape = list(q.shape)
            self.lse_rows = q.shape[0] * q.shape[1]
        else:
            self.mode = _BROADCAST_QUERY if q_offsets is None else _JAGGED
            if k_offsets is None:
                _refuse("k_offsets", "to be given with 'q_offsets', but got None")
            _check_tensor("q", q, self.dtype, self.device, [None] * 3)
            _check_tensor("k", k, self.dtype, self.device,
                          [None, None, q.shape[2]])
            d.batch_size = k_offsets.shape[0] - 1
            d.k_offsets = self._host("k_offsets", k_offsets, d.batch_size,
                                     k.shape[0])
            self.o_shape = list(q.shape)
            if self.mode == _JAGGED:
                d.q_offsets = self._host("q_offsets", q_offsets, d.batch_size,
                                         q.shape[0])
            else:
                d.q_length = q.shape[0]
                self.o_shape[0] = q.shape[0] * d.batch_size
            self.lse_rows = self.o_shape[0]
        d.mode = self.mode
        d.num_query_heads, d.head_dim = q.shape[-2], q.shape[-1]
        d.num_kv_heads = k.shape[-2]
        d.lse_head_stride = self.lse_rows
        self.batch_size = d.batch_size
        return d

    def _host(self, name, offsets, batch_size, rows):
        """The address of a host copy, kept while the plan is being made."""
        if offsets.dtype != torch.int32:
            _refuse(name, f"to have dtype torch.int32, but got {offsets.dtype}")
        if offsets.dim() != 1 or offsets.shape[0] != batch_size + 1:
            _refuse(name, f"to have the shape [{batch_size + 1}], but got "
                    f"{list(offsets.shape)}")
        host = offsets.cpu().contiguous()
        if int(host[-1]) > rows:
            _refuse(name, f"to end within the {rows} rows of its tensor, but "
                    f"got {int(host[-1])}")
        setattr(self, f"_host_{name}", host)
        return host.data_ptr()

    def _check(self, q, k, v):
        _check_tensor("q", q, self.dtype, self.device, self.q_shape)
        _check_tensor("k", k, self.dtype, self.device, self.k_shape)
        _check_tensor("v", v, self.dtype, self.device, self.k_shape)

    def facts(self):
        """What the plan launches, as a dictionary."""
        facts = _library.KernelFacts(
            struct_size=C.sizeof(_library.KernelFacts))
        _library.call("jfaAttentionForwardPlanGetFacts", self._plan,
                      C.byref(facts))
        return facts.to_dict()

    def workspace_bytes(self):
        size = C.c_size_t()
        _library.call("jfaAttentionForwardPlanGetWorkspaceSize", self._plan,
                      C.byref(size))
        return size.value

    def make_workspace(self):
        """A new workspace, filled on the current stream."""
        size = self.workspace_bytes()
        workspace = torch.empty(size, dtype=torch.uint8, device=self.device)
        stream = torch.cuda.current_stream(self.device).cuda_stream
        _library.call("jfaAttentionForwardPlanInitializeWorkspace", self._plan,
                      workspace.data_ptr(), size, stream)
        return workspace

    def make_outputs(self):
        """New, packed tensors for `o` and `lse`."""
        o = torch.empty(self.o_shape, dtype=self.dtype, device=self.device)
        lse = torch.empty(self.q_shape[-2], self.lse_rows, dtype=torch.float32,
                          device=self.device)
        return o, lse

    def bind(self, q, k, v, o, lse, q_offsets=None, k_offsets=None,
             workspace=None):
        """Checks tensors against the plan; the result launches on the current
        stream each time it is called."""
        self._check(q, k, v)
        _check_tensor("o", o, self.dtype, self.device, self.o_shape)
        _check_tensor("lse", lse, torch.float32, self.device,
                      [self.q_shape[-2], self.lse_rows])
        packed = torch.empty(self.o_shape, device="meta").stride()
        for name, tensor in {"q": q, "k": k, "v": v, "o": o}.items():
            wanted = self._strides.get(name, packed)
            if tensor.stride() != wanted:
                _refuse(name, f"to have the plan's strides {list(wanted)}, but "
                        f"got {list(tensor.stride())}")
        if lse.numel() and not lse.is_contiguous():
            _refuse("lse", "to be contiguous, but it is not")
        buffers = _library.AttentionForwardBuffers()
        buffers.struct_size = C.sizeof(buffers)
        for name, offsets in {"q_offsets": q_offsets,
                              "k_offsets": k_offsets}.items():
            if offsets is not None:
                _check_tensor(name, offsets, torch.int32, self.device,
                              [self.batch_size + 1])
                setattr(buffers, name, offsets.data_ptr())
        for name, tensor in {"q": q, "k": k, "v": v, "o": o, "lse": lse}.items():
            setattr(buffers, name, tensor.data_ptr())
        workspace = self.workspace if workspace is None else workspace
        size = workspace.numel() * workspace.element_size()
        # The tensors live as long as the function that uses their addresses.
        keep = (q, k, v, o, lse, q_offsets, k_offsets, workspace)

        def launch():
            stream = torch.cuda.current_stream(self.device).cuda_stream
            _library.call("jfaAttentionForwardExecute", self._plan,
                          C.byref(buffers), keep[-1].data_ptr(), size, stream)

        return launch

    def __call__(self, q, k, v, o=None, lse=None, q_offsets=None,
                 k_offsets=None):
        """Launches on the current stream; returns `o` and `lse`."""
        new_o, new_lse = (None, None)
        if o is None or lse is None:
            new_o, new_lse = self.make_outputs()
        o = new_o if o is None else o
        lse = new_lse if lse is None else lse
        self.bind(q, k, v, o, lse, q_offsets, k_offsets)()
        return o, lse


def attention_forward(q, k, v, q_offsets=None, k_offsets=None, *,
                      causal=False, scale=None):
    """softmax(scale * Q K^T) V and its log-sum-exp `[Hq, rows of o]`.

    The shapes are those of AttentionForwardPlan, which is better used directly
    where one shape runs often. Offsets are on the tensors' GPU.
    """
    plan = AttentionForwardPlan(q, k, v, q_offsets, k_offsets, causal=causal,
                                scale=scale)
    return plan(q, k, v, q_offsets=q_offsets, k_offsets=k_offsets)
