"""Checks wgmma with every kind of descriptor against products by hand.

Operands are laid out here by the formulas of PTX ISA 9.7.15.5.1, small integers
in them, so that every product is exact in every type. A bulk copy brings them
into shared memory; the fragments of D go to global memory.
"""

import itertools
import random
import struct
import subprocess
import sys

B_START = 32768
TYPES = {"bf16": (2, 16), "f16": (2, 16), "tf32": (4, 8), "e4m3": (1, 32)}


def encode(kind, value):
    if kind == "e4m3":
        # 0 to 7 have at most three significant bits.
        magnitude = abs(value)
        if magnitude == 0:
            return b"\0"
        exponent = magnitude.bit_length() - 1
        fraction = (magnitude << 3 >> exponent) & 7
        sign = 0x80 if value < 0 else 0
        return bytes([sign | (exponent + 7) << 3 | fraction])
    if kind == "f16":
        return struct.pack("<e", value)
    bits = struct.pack("<f", value)
    return bits[2:] if kind == "bf16" else bits


def swizzle(address, bits):
    return address ^ ((address >> 7 & ((1 << bits) - 1)) << 4)


def place(kind, start, swizzle_bits, transposed, k_total, row, k):
    """The address of an element, and the descriptor's two strides."""
    size, _ = TYPES[kind]
    per_unit, width = 16 // size, 1 << swizzle_bits
    if not transposed:
        pitch = 16 * width
        stride, leading = 8 * pitch, 128
        if swizzle_bits == 0:
            stride = 256
        unit = k // per_unit * (16 if swizzle_bits else leading)
        linear = row % 8 * pitch + row // 8 * stride + unit + k % per_unit * size
    elif swizzle_bits == 0:
        leading, stride = 128, 128 * (k_total // 8)
        linear = (row % per_unit * size + row // per_unit * stride +
                  k % 8 * 16 + k // 8 * leading)
    else:
        stride = 8 * width * 16
        leading = stride * (k_total // 8)
        atom = per_unit * width
        linear = (row % per_unit * size + row // per_unit % width * 16 +
                  row // atom * leading + k % 8 * width * 16 + k // 8 * stride)
    return swizzle(start + linear, swizzle_bits), leading, stride


def lay_out(kind, start, matrix, swizzle_bits, transposed, image):
    k_total = len(matrix[0])
    for row, values in enumerate(matrix):
        for k, value in enumerate(values):
            at, leading, stride = place(kind, start, swizzle_bits, transposed,
                                        k_total, row, k)
            data = encode(kind, value)
            image[at:at + len(data)] = data
    # Shared memory begins at 1024.
    code = {0: 0, 3: 1, 2: 2, 1: 3}[swizzle_bits]
    return ((start + 1024) >> 4 | leading >> 4 << 16 | stride >> 4 << 32 |
            code << 62)


def make_kernel(kind, n, k, descriptors, transposed, image_bytes):
    registers = ", ".join(f"%d{i}" for i in range(n // 2))
    flags = "" if kind in ("tf32", "e4m3") else \
        f", {int(transposed[0])}, {int(transposed[1])}"
    stores = "\n".join(f"  st.global.b32 [%rd4+{4 * i}], %d{i};"
                       for i in range(n // 2))
    return f""".version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 image, .param .u64 out)
.reqntid 128
{{
  .reg .pred %p<3>;
  .reg .b32 %r<8>;
  .reg .b32 %d<128>;
  .reg .b64 %rd<8>;
  .shared .align 1024 .b8 tile[65536];
  .shared .align 8 .b8 bar[8];
  ld.param.u64 %rd1, [image];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared.b64 [bar], 1;
  bar.sync 0;
  @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], {image_bytes};
  @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], {image_bytes}, [bar];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
  @!%p2 bra WAIT;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n{n}k{k}.f32.{kind}.{kind} {{{registers}}}, {descriptors[0]}, {descriptors[1]}, 0, 1, 1{flags};
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  mul.wide.u32 %rd3, %r1, {2 * n};
  add.s64 %rd4, %rd2, %rd3;
{stores}
  ret;
}}
"""


def write_npy(path, image):
    header = ("{'descr': '<i4', 'fortran_order': False, 'shape': "
              f"({len(image) // 4},), }}")
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                   header.encode() + bytes(image))


def check(tool, scratch, kind, n, swizzles, transposed, numerics):
    rng = random.Random(n)
    _, k = TYPES[kind]
    a = [[rng.randrange(-7, 8) for _ in range(k)] for _ in range(64)]
    b = [[rng.randrange(-7, 8) for _ in range(k)] for _ in range(n)]
    image = bytearray(65536)
    descriptors = [
        lay_out(kind, 0, a, swizzles[0], transposed[0], image),
        lay_out(kind, B_START, b, swizzles[1], transposed[1], image)]
    with open(scratch, "w") as file:
        file.write(make_kernel(kind, n, k, descriptors, transposed,
                               len(image)))
    write_npy(scratch + ".npy", image)
    result = subprocess.run(
        [tool, scratch, "--arg", f"image=i32:{scratch}.npy", "--arg",
         f"out=f32:zeros:{64 * n}", "--print", "out",
         f"--numerics={numerics}"], capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        return result.stderr
    line = next(x for x in result.stdout.splitlines() if x.startswith("out:"))
    got = [float(x) for x in line.split()[1:]]
    for t in range(128):
        for i in range(n // 2):
            row = t % 32 // 4 + 16 * (t // 32) + 8 * (i // 2 % 2)
            column = 2 * (t % 4) + i % 2 + 8 * (i // 4)
            want = sum(x * y for x, y in zip(a[row], b[column]))
            if got[t * (n // 2) + i] != want:
                return f"({row}, {column}) is {got[t * (n // 2) + i]}, not {want}"
    return ""


def main():
    tool, scratch = sys.argv[1:]
    count = failures = 0
    for kind in TYPES:
        majors = [(False, False)]
        if kind in ("bf16", "f16"):
            majors = list(itertools.product((False, True), repeat=2))
        for transposed in majors:
            for swizzle_bits in range(4):
                n = 64 if transposed[1] and swizzle_bits else 24
                for numerics in ("fast", "exact"):
                    # K-major operands need not have the swizzle of the others.
                    wrong = check(tool, scratch, kind, n,
                                  (swizzle_bits, 3 - swizzle_bits
                                   if not transposed[1] else swizzle_bits),
                                  transposed, numerics)
                    count += 1
                    if wrong:
                        failures += 1
                        print(f"{kind} n{n} transposed {transposed} swizzle "
                              f"{swizzle_bits} {numerics}: {wrong}")
    print(f"{count} products, {failures} failures")


if __name__ == "__main__":
    main()
