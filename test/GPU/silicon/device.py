# ===- device.py - Launches through the driver's API *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Runs cases on the GPU, with nothing but the driver."""

import ctypes

from case import ELEMENTS

# CUtensorMapDataType.
MAP_TYPES = {"i8": 0, "i16": 1, "i32": 3, "i64": 5, "f16": 6, "f32": 7,
             "bf16": 9}
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}


class DeviceError(RuntimeError):
    pass


class Device:
    def __init__(self):
        try:
            self.cuda = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise DeviceError(str(error)) from error
        self.check(self.cuda.cuInit(0), "cuInit")
        device = ctypes.c_int()
        self.check(self.cuda.cuDeviceGet(ctypes.byref(device), 0),
                   "cuDeviceGet")
        context = ctypes.c_void_p()
        self.check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context),
                                                      device), "context")
        self.check(self.cuda.cuCtxSetCurrent(context), "context")
        name = ctypes.create_string_buffer(256)
        self.cuda.cuDeviceGetName(name, 256, device)
        self.name = name.value.decode()
        version = ctypes.c_int()
        self.cuda.cuDriverGetVersion(ctypes.byref(version))
        self.version = version.value

    def check(self, status, what):
        if status != 0:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorName(status, ctypes.byref(text))
            raise DeviceError(f"{what}: {(text.value or b'?').decode()}")

    def load(self, image):
        """The module and its kernel `k`; the driver assembles PTX."""
        log = ctypes.create_string_buffer(4096)
        options = (ctypes.c_int * 2)(5, 6)  # error log, its size
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), 4096)
        module = ctypes.c_void_p()
        status = self.cuda.cuModuleLoadDataEx(
            ctypes.byref(module), image, 2, options, values)
        self.check(status, f"assembling: {log.value.decode()[:500]}")
        function = ctypes.c_void_p()
        self.check(self.cuda.cuModuleGetFunction(ctypes.byref(function), module,
                                                 b"k"), "kernel")
        return module, function

    def allocate(self, data):
        address = ctypes.c_uint64()
        size = max(16, len(data))
        self.check(self.cuda.cuMemAlloc_v2(ctypes.byref(address),
                                           ctypes.c_size_t(size)), "memory")
        self.check(self.cuda.cuMemcpyHtoD_v2(address, bytes(data),
                                             ctypes.c_size_t(len(data))),
                   "copy")
        return address

    def encode(self, tensor_map, array, address):
        """The 128 bytes of a tensor map, at a multiple of 64."""
        space = ctypes.create_string_buffer(192)
        at = (ctypes.addressof(space) + 63) // 64 * 64
        rank = len(tensor_map.box)
        _, size = ELEMENTS[array.element]
        strides, stride = [], size
        for extent in reversed(array.shape[1:]):
            stride *= extent
            strides.append(stride)
        u64, u32 = ctypes.c_uint64 * rank, ctypes.c_uint32 * rank
        status = self.cuda.cuTensorMapEncodeTiled(
            ctypes.c_void_p(at), MAP_TYPES[array.element], rank, address,
            u64(*tensor_map.extents), (ctypes.c_uint64 * 4)(*strides[:4]),
            u32(*tensor_map.box), u32(*([1] * rank)), 0,
            SWIZZLES[tensor_map.swizzle], 0, 0)
        self.check(status, "cuTensorMapEncodeTiled")
        return space, at

    def run(self, case, image=None):
        """The bytes of the case's outputs; `image` is its cubin."""
        module, function = self.load(image or case.ptx.encode())
        addresses = {a.name: self.allocate(a.data) for a in case.arrays}
        keep, pointers = [], []
        for tensor_map in case.maps:
            name = tensor_map.name
            space, at = self.encode(tensor_map, case.get_array(name),
                                    addresses[name])
            keep.append(space)
            pointers.append(at)
        pointers += [ctypes.addressof(addresses[a.name])
                     for a in case.get_pointers()]
        arguments = (ctypes.c_void_p * len(pointers))(*pointers)
        self.check(self.cuda.cuLaunchKernel(
            function, case.grid, 1, 1, case.block, 1, 1, 0, None, arguments,
            None), "launch")
        self.check(self.cuda.cuCtxSynchronize(), f"{case.name}")
        outputs = []
        for array in case.arrays:
            if array.is_output:
                data = ctypes.create_string_buffer(len(array.data))
                self.check(self.cuda.cuMemcpyDtoH_v2(
                    data, addresses[array.name],
                    ctypes.c_size_t(len(array.data))), "copy")
                outputs.append(data.raw)
        for address in addresses.values():
            self.cuda.cuMemFree_v2(address)
        self.cuda.cuModuleUnload(module)
        return outputs
