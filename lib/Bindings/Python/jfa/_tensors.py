# ===- _tensors.py - What the C interface cannot see of tensors *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""What the C interface cannot see of tensors, and how it describes them."""

import ctypes as C

import torch

from . import _library
from ._library import JFAError

ELEMENT_TYPES = {torch.bfloat16: 0, torch.float16: 1}
DENSE, JAGGED, BROADCAST_QUERY = 0, 1, 2


def refuse(name, rest):
    raise JFAError(f"expected '{name}' {rest}", name)


def check_tensor(name, tensor, dtype, device, shape):
    """Checks what the C interface cannot see; None in a shape is any size."""
    if tensor.dtype != dtype:
        refuse(name, f"to have dtype {dtype}, but got {tensor.dtype}")
    if tensor.device != device:
        refuse(name, f"to be on {device}, but got {tensor.device}")
    sizes = list(tensor.shape)
    if len(sizes) != len(shape) or any(
        w is not None and s != w for s, w in zip(sizes, shape)
    ):
        wanted = ["any" if w is None else w for w in shape]
        refuse(name, f"to have the shape {wanted}, but got {sizes}")
    if tensor.numel() and tensor.stride(-1) != 1:
        refuse(name, f"to be contiguous in its last dimension, but got the "
               f"stride {tensor.stride(-1)}")


def _rows(name, tensor):
    """A dense [B, S, H, D] tensor as [B * S, H, D], without a copy."""
    try:
        return tensor.view(-1, *tensor.shape[2:])
    except RuntimeError:
        refuse(name, f"to have sequences back to back, but got the strides "
               f"{list(tensor.stride())}")


def get_strides(name, tensor, mode):
    """Row and head stride for the C interface, where 0 is the default. An axis
    of size 1 has any stride; of others 0, as of expanded tensors, is refused."""
    tensor = _rows(name, tensor) if mode == DENSE else tensor
    strides = []
    for axis in (0, 1):
        used = tensor.numel() > 0 and tensor.shape[axis] > 1
        if used and tensor.stride(axis) == 0:
            refuse(name, f"not to be expanded, but got the strides "
                   f"{list(tensor.stride())}")
        strides.append(tensor.stride(axis) if used else 0)
    return strides


class Problem:
    """The shapes of q, k, v and the sequences, as a plan is made from them."""

    def __init__(self, q, k, v, q_offsets, k_offsets, causal, scale,
                 work_order=0):
        if q.dtype not in ELEMENT_TYPES:
            refuse("q", f"to have dtype bfloat16 or float16, but got {q.dtype}")
        self.device, self.dtype = q.device, q.dtype
        if self.device.type != "cuda":
            refuse("q", f"to be on a GPU, but got {self.device}")
        self.q_shape, self.k_shape = list(q.shape), list(k.shape)
        self.strides = {}
        d = self.description = self._describe(q, k, q_offsets, k_offsets)
        d.causal = bool(causal)
        d.work_order = work_order
        d.scale = scale or 0.0
        if scale == 0:
            refuse("scale", "to be positive, but got 0")
        self.check_inputs(q, k, v)
        for name, tensor in {"q": q, "k": k, "v": v}.items():
            self.set_strides(d, name, tensor)

    def _describe(self, q, k, q_offsets, k_offsets):
        d = _library.AttentionForwardDescription()
        d.struct_size = C.sizeof(d)
        d.element_type = ELEMENT_TYPES[self.dtype]
        if q_offsets is None and k_offsets is None:
            self.mode = DENSE
            check_tensor("q", q, self.dtype, self.device, [None] * 4)
            check_tensor("k", k, self.dtype, self.device,
                         [q.shape[0], None, None, q.shape[3]])
            d.batch_size, d.q_length, d.k_length = *q.shape[:2], k.shape[1]
            self.o_shape = list(q.shape)
            self.lse_rows = q.shape[0] * q.shape[1]
        else:
            self.mode = BROADCAST_QUERY if q_offsets is None else JAGGED
            if k_offsets is None:
                refuse("k_offsets", "to be given with 'q_offsets', but got None")
            check_tensor("q", q, self.dtype, self.device, [None] * 3)
            check_tensor("k", k, self.dtype, self.device,
                         [None, None, q.shape[2]])
            d.batch_size = k_offsets.shape[0] - 1
            d.k_offsets = self._host("k_offsets", k_offsets, d.batch_size,
                                     k.shape[0])
            self.o_shape = list(q.shape)
            if self.mode == JAGGED:
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
            refuse(name, f"to have dtype torch.int32, but got {offsets.dtype}")
        if offsets.dim() != 1 or offsets.shape[0] != batch_size + 1:
            refuse(name, f"to have the shape [{batch_size + 1}], but got "
                   f"{list(offsets.shape)}")
        host = offsets.cpu().contiguous()
        if int(host[-1]) > rows:
            refuse(name, f"to end within the {rows} rows of its tensor, but "
                   f"got {int(host[-1])}")
        setattr(self, f"_host_{name}", host)
        return host.data_ptr()

    def set_strides(self, description, name, tensor):
        """Describes a tensor's strides, which bind() will ask for."""
        row, head = get_strides(name, tensor, self.mode)
        setattr(description, f"{name}_row_stride", row)
        setattr(description, f"{name}_head_stride", head)
        self.strides[name] = tensor.stride()

    def check(self, name, tensor, shape):
        check_tensor(name, tensor, self.dtype, self.device, shape)

    def check_inputs(self, q, k, v):
        self.check("q", q, self.q_shape)
        self.check("k", k, self.k_shape)
        self.check("v", v, self.k_shape)

    def check_strides(self, tensors):
        for name, tensor in tensors.items():
            # Those of a tensor that the plan was not made with are packed.
            wanted = self.strides.get(
                name, torch.empty(tensor.shape, device="meta").stride())
            if tensor.stride() != wanted:
                refuse(name, f"to have the plan's strides {list(wanted)}, but "
                       f"got {list(tensor.stride())}")

    def fill_forward(self, buffers, q, k, v, o, lse, q_offsets, k_offsets):
        """Checks the forward's tensors, and fills in their addresses."""
        self.check_inputs(q, k, v)
        self.check("o", o, self.o_shape)
        check_tensor("lse", lse, torch.float32, self.device,
                     [self.q_shape[-2], self.lse_rows])
        self.check_strides({"q": q, "k": k, "v": v, "o": o})
        if lse.numel() and not lse.is_contiguous():
            refuse("lse", "to be contiguous, but it is not")
        buffers.struct_size = C.sizeof(buffers)
        for name, offsets in {"q_offsets": q_offsets,
                              "k_offsets": k_offsets}.items():
            if offsets is not None:
                check_tensor(name, offsets, torch.int32, self.device,
                             [self.batch_size + 1])
                setattr(buffers, name, offsets.data_ptr())
        for name, tensor in {"q": q, "k": k, "v": v, "o": o, "lse": lse}.items():
            setattr(buffers, name, tensor.data_ptr())


class Plan:
    """What all plans share. A subclass says how the C interface calls its
    functions, `jfa<kind>...`."""

    kind = ""

    def _create(self, description):
        self._plan = C.c_void_p()
        self._call("PlanCreate", C.byref(description), self.device.index,
                   C.byref(self._plan))

    def _call(self, name, *arguments):
        _library.call(f"jfa{self.kind}{name}", *arguments)

    def __del__(self):
        if getattr(self, "_plan", None):
            self._call("PlanDestroy", self._plan)

    def workspace_bytes(self):
        size = C.c_size_t()
        self._call("PlanGetWorkspaceSize", self._plan, C.byref(size))
        return size.value

    def make_workspace(self):
        """A new workspace, filled on the current stream."""
        size = self.workspace_bytes()
        workspace = torch.empty(size, dtype=torch.uint8, device=self.device)
        stream = torch.cuda.current_stream(self.device).cuda_stream
        self._call("PlanInitializeWorkspace", self._plan, workspace.data_ptr(),
                   size, stream)
        return workspace

    def _launcher(self, buffers, workspace, keep):
        """A function that launches; `keep` lives as long as it does."""
        size = workspace.numel() * workspace.element_size()

        def launch():
            stream = torch.cuda.current_stream(self.device).cuda_stream
            self._call("Execute", self._plan, C.byref(buffers),
                       workspace.data_ptr(), size, stream)

        launch.keep = keep
        return launch
