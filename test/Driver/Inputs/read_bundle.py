"""Reads a bundle strictly by docs/Manifest.md and prints what is in it."""

import json
import struct
import sys

data = open(sys.argv[1], "rb").read()
magic, version, reserved, header_bytes = struct.unpack_from("<8sIIQ", data)
assert magic == b"JFABUNDL" and version == 1 and reserved == 0
end = 24 + header_bytes
header = json.loads(data[24:end].decode("utf-8"))
blobs = (end + 15) // 16 * 16
assert data[end:blobs] == bytes(blobs - end)
assert header["schema"] == 1
for kernel in header["kernels"]:
    assert kernel["schema"] == 1
    offset, size = kernel["cubin"]["offset"], kernel["cubin"]["size"]
    assert offset % 16 == 0 and blobs + offset + size <= len(data)
    cubin = data[blobs + offset : blobs + offset + size]
    print(kernel["entry"], kernel["arch"], kernel["block"], cubin[:10], sep=" ")
    if len(sys.argv) > 2:
        assert header == json.load(open(sys.argv[2]))
