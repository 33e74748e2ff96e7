# ===- _library.py - The C interface in ctypes --------------*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""The C interface in ctypes: structures, functions, errors."""

import ctypes as C
import functools
import os
from pathlib import Path

_STATUS_SUCCESS = 0


class Error(C.Structure):
    _fields_ = [
        ("status", C.c_int),
        ("argument", C.c_char * 64),
        ("message", C.c_char * 512),
    ]


class KernelFacts(C.Structure):
    _fields_ = [
        ("struct_size", C.c_size_t),
        ("entry", C.c_char * 64),
        ("arch", C.c_char * 16),
        ("source", C.c_char * 256),
        ("parameters", C.c_char * 512),
        ("llvm_version", C.c_char * 32),
        ("ptxas_version", C.c_char * 32),
        ("block_m", C.c_int32),
        ("block_n", C.c_int32),
        ("block", C.c_int32 * 3),
        ("cluster", C.c_int32 * 3),
        ("shared_memory_bytes", C.c_int32),
        ("registers", C.c_int32),
        ("spill_store_bytes", C.c_int32),
        ("spill_load_bytes", C.c_int32),
        ("stack_bytes", C.c_int32),
        ("grid", C.c_int32 * 3),
        ("num_items", C.c_int64),
    ]

    def to_dict(self):
        """The facts as plain Python values."""
        result = {}
        for name, _ in self._fields_[1:]:
            value = getattr(self, name)
            if isinstance(value, bytes):
                value = value.decode()
            elif isinstance(value, C.Array):
                value = list(value)
            result[name] = value
        return result


class AttentionForwardDescription(C.Structure):
    _fields_ = [
        ("struct_size", C.c_size_t),
        ("element_type", C.c_int),
        ("mode", C.c_int),
        ("head_dim", C.c_int32),
        ("num_query_heads", C.c_int32),
        ("num_kv_heads", C.c_int32),
        ("causal", C.c_int32),
        ("scale", C.c_double),
        ("batch_size", C.c_int64),
        ("q_length", C.c_int64),
        ("k_length", C.c_int64),
        ("q_offsets", C.c_void_p),
        ("k_offsets", C.c_void_p),
        ("q_row_stride", C.c_int64),
        ("q_head_stride", C.c_int64),
        ("k_row_stride", C.c_int64),
        ("k_head_stride", C.c_int64),
        ("v_row_stride", C.c_int64),
        ("v_head_stride", C.c_int64),
        ("o_row_stride", C.c_int64),
        ("o_head_stride", C.c_int64),
        ("lse_head_stride", C.c_int64),
        ("work_order", C.c_int32),
    ]


class AttentionForwardBuffers(C.Structure):
    _fields_ = [
        ("struct_size", C.c_size_t),
        ("q", C.c_void_p),
        ("k", C.c_void_p),
        ("v", C.c_void_p),
        ("o", C.c_void_p),
        ("lse", C.c_void_p),
        ("q_offsets", C.c_void_p),
        ("k_offsets", C.c_void_p),
    ]


class AttentionBackwardDescription(C.Structure):
    _fields_ = [
        ("struct_size", C.c_size_t),
        ("forward", AttentionForwardDescription),
        ("dout_row_stride", C.c_int64),
        ("dout_head_stride", C.c_int64),
        ("dq_row_stride", C.c_int64),
        ("dq_head_stride", C.c_int64),
        ("dk_row_stride", C.c_int64),
        ("dk_head_stride", C.c_int64),
        ("dv_row_stride", C.c_int64),
        ("dv_head_stride", C.c_int64),
        ("deterministic", C.c_int32),
    ]


class AttentionBackwardBuffers(C.Structure):
    _fields_ = [
        ("struct_size", C.c_size_t),
        ("forward", AttentionForwardBuffers),
        ("dout", C.c_void_p),
        ("dq", C.c_void_p),
        ("dk", C.c_void_p),
        ("dv", C.c_void_p),
    ]


class BlockAttentionForwardDescription(C.Structure):
    _fields_ = [
        ("struct_size", C.c_size_t),
        ("element_type", C.c_int32),
        ("head_dim", C.c_int32),
        ("num_query_heads", C.c_int32),
        ("num_kv_heads", C.c_int32),
        ("scale", C.c_double),
        ("batch_size", C.c_int64),
        ("offsets", C.c_void_p),
        ("q_row_stride", C.c_int64),
        ("q_head_stride", C.c_int64),
        ("k_row_stride", C.c_int64),
        ("k_head_stride", C.c_int64),
        ("v_row_stride", C.c_int64),
        ("v_head_stride", C.c_int64),
        ("o_row_stride", C.c_int64),
        ("o_head_stride", C.c_int64),
        ("sincos_row_stride", C.c_int64),
        ("rotary", C.c_int32),
    ]


class BlockAttentionForwardBuffers(C.Structure):
    _fields_ = [
        ("struct_size", C.c_size_t),
        ("q", C.c_void_p),
        ("k", C.c_void_p),
        ("v", C.c_void_p),
        ("o", C.c_void_p),
        ("sincos", C.c_void_p),
    ]


class BlockAttentionBackwardDescription(C.Structure):
    _fields_ = [
        ("struct_size", C.c_size_t),
        ("forward", BlockAttentionForwardDescription),
        ("dout_row_stride", C.c_int64),
        ("dout_head_stride", C.c_int64),
        ("dq_row_stride", C.c_int64),
        ("dq_head_stride", C.c_int64),
        ("dk_row_stride", C.c_int64),
        ("dk_head_stride", C.c_int64),
        ("dv_row_stride", C.c_int64),
        ("dv_head_stride", C.c_int64),
        ("rotary", C.c_int32),
    ]


class BlockAttentionBackwardBuffers(C.Structure):
    _fields_ = [
        ("struct_size", C.c_size_t),
        ("q", C.c_void_p),
        ("k", C.c_void_p),
        ("v", C.c_void_p),
        ("dout", C.c_void_p),
        ("dq", C.c_void_p),
        ("dk", C.c_void_p),
        ("dv", C.c_void_p),
        ("sincos", C.c_void_p),
    ]


class JFAError(RuntimeError):
    """A call that the runtime refused. `argument` is what it refused, by name,
    and `status` the name of its status."""

    def __init__(self, message, argument="", status="invalid argument"):
        super().__init__(message)
        self.argument = argument
        self.status = status


def _candidates():
    """Where the library may be, first choice first."""
    here = Path(__file__).resolve()
    yield here.parent / "libjfa.so"
    for parent in here.parents:
        for folder in ("build/lib", "lib", "lib64", "lib/x86_64-linux-gnu"):
            yield parent / folder / "libjfa.so"


_FUNCTIONS = {
    "jfaGetDeviceCount": [C.POINTER(C.c_int32)],
    "jfaLoadKernels": [C.c_char_p],
    "jfaKernelGetCount": [C.POINTER(C.c_int64)],
    "jfaKernelGetFacts": [C.c_int64, C.POINTER(KernelFacts)],
    "jfaAttentionForwardPlanCreate": [
        C.POINTER(AttentionForwardDescription),
        C.c_int32,
        C.POINTER(C.c_void_p),
    ],
    "jfaAttentionForwardPlanDestroy": [C.c_void_p],
    "jfaAttentionForwardPlanGetWorkspaceSize": [
        C.c_void_p,
        C.POINTER(C.c_size_t),
    ],
    "jfaAttentionForwardPlanGetFacts": [C.c_void_p, C.POINTER(KernelFacts)],
    "jfaAttentionForwardPlanInitializeWorkspace": [
        C.c_void_p,
        C.c_void_p,
        C.c_size_t,
        C.c_void_p,
    ],
    "jfaAttentionForwardExecute": [
        C.c_void_p,
        C.POINTER(AttentionForwardBuffers),
        C.c_void_p,
        C.c_size_t,
        C.c_void_p,
    ],
    "jfaAttentionBackwardPlanCreate": [
        C.POINTER(AttentionBackwardDescription),
        C.c_int32,
        C.POINTER(C.c_void_p),
    ],
    "jfaAttentionBackwardPlanDestroy": [C.c_void_p],
    "jfaAttentionBackwardPlanGetWorkspaceSize": [
        C.c_void_p,
        C.POINTER(C.c_size_t),
    ],
    "jfaAttentionBackwardPlanGetLaunchCount": [
        C.c_void_p,
        C.POINTER(C.c_int32),
    ],
    "jfaAttentionBackwardPlanGetFacts": [
        C.c_void_p,
        C.c_int32,
        C.POINTER(KernelFacts),
    ],
    "jfaAttentionBackwardPlanInitializeWorkspace": [
        C.c_void_p,
        C.c_void_p,
        C.c_size_t,
        C.c_void_p,
    ],
    "jfaAttentionBackwardExecute": [
        C.c_void_p,
        C.POINTER(AttentionBackwardBuffers),
        C.c_void_p,
        C.c_size_t,
        C.c_void_p,
    ],
    "jfaBlockAttentionForwardPlanCreate": [
        C.POINTER(BlockAttentionForwardDescription),
        C.c_int32,
        C.POINTER(C.c_void_p),
    ],
    "jfaBlockAttentionForwardPlanGetWorkspaceSize": [
        C.c_void_p,
        C.POINTER(C.c_size_t),
    ],
    "jfaBlockAttentionForwardPlanGetFacts": [
        C.c_void_p,
        C.POINTER(KernelFacts),
    ],
    "jfaBlockAttentionForwardPlanInitializeWorkspace": [
        C.c_void_p,
        C.c_void_p,
        C.c_size_t,
        C.c_void_p,
    ],
    "jfaBlockAttentionForwardExecute": [
        C.c_void_p,
        C.POINTER(BlockAttentionForwardBuffers),
        C.c_void_p,
        C.c_size_t,
        C.c_void_p,
    ],
    "jfaBlockAttentionBackwardPlanCreate": [
        C.POINTER(BlockAttentionBackwardDescription),
        C.c_int32,
        C.POINTER(C.c_void_p),
    ],
    "jfaBlockAttentionBackwardPlanGetWorkspaceSize": [
        C.c_void_p,
        C.POINTER(C.c_size_t),
    ],
    "jfaBlockAttentionBackwardPlanGetFacts": [
        C.c_void_p,
        C.POINTER(KernelFacts),
    ],
    "jfaBlockAttentionBackwardPlanInitializeWorkspace": [
        C.c_void_p,
        C.c_void_p,
        C.c_size_t,
        C.c_void_p,
    ],
    "jfaBlockAttentionBackwardExecute": [
        C.c_void_p,
        C.POINTER(BlockAttentionBackwardBuffers),
        C.c_void_p,
        C.c_size_t,
        C.c_void_p,
    ],
}


@functools.lru_cache(maxsize=None)
def library():
    """The library, opened when first needed."""
    path = os.environ.get("JFA_LIBRARY")
    if not path:
        found = [p for p in _candidates() if p.exists()]
        # Otherwise the loader's own search.
        path = str(found[0]) if found else "libjfa.so.0"
    result = C.CDLL(path)
    for name, arguments in _FUNCTIONS.items():
        function = getattr(result, name)
        function.argtypes = [*arguments, C.POINTER(Error)]
        function.restype = C.c_int
    result.jfaStatusGetName.argtypes = [C.c_int]
    result.jfaStatusGetName.restype = C.c_char_p
    result.jfaRuntimeGetVersion.restype = C.c_char_p
    return result


def call(name, *arguments):
    """Calls a function of the C interface; raises JFAError if it refuses."""
    error = Error()
    lib = library()
    if getattr(lib, name)(*arguments, C.byref(error)) != _STATUS_SUCCESS:
        raise JFAError(
            error.message.decode(errors="replace"),
            error.argument.decode(),
            lib.jfaStatusGetName(error.status).decode(),
        )


def version():
    """The runtime's version."""
    return library().jfaRuntimeGetVersion().decode()


def load_kernels(path):
    """Adds a bundle's kernels, which take precedence over those there are."""
    call("jfaLoadKernels", os.fsencode(path))


def kernels():
    """The facts of every kernel at hand, later ones having precedence."""
    count = C.c_int64()
    call("jfaKernelGetCount", C.byref(count))
    result = []
    for index in range(count.value):
        facts = KernelFacts(struct_size=C.sizeof(KernelFacts))
        call("jfaKernelGetFacts", index, C.byref(facts))
        result.append(facts.to_dict())
    return result
