"""Checks tcgen05.mma: types, majors, swizzles, layouts of D, pairs of CTAs,
scales, and what keeps B in place (.ws).

Operands are laid out here by the formulas of PTX ISA 9.7.16, small integers in
them, so that every product is exact. Bulk copies bring them into shared memory;
tensor memory is filled from a global array and dumped into one, whole columns.
"""

import itertools
import random
import struct
import subprocess
import sys

from products import swizzle

B_START, IMAGE, COLUMNS = 32768, 65536, 128
D_COLUMN, A_COLUMN, SCALE_A, SCALE_B = 0, 64, 80, 88
# Of each type: its kind, its code, bytes of its container, bits, and exponent
# bits and bias of the narrow ones.
TYPES = {"f16": ("f16", 0, 2, 16), "bf16": ("f16", 1, 2, 16),
         "tf32": ("tf32", 2, 4, 32), "e4m3": ("f8f6f4", 0, 1, 8, 3, 7),
         "e5m2": ("f8f6f4", 1, 1, 8, 2, 15), "e2m3": ("f8f6f4", 3, 1, 6, 3, 1),
         "e3m2": ("f8f6f4", 4, 1, 6, 2, 3), "e2m1": ("f8f6f4", 5, 1, 4, 1, 1),
         "u8": ("i8", 0, 1, 8), "s8": ("i8", 1, 1, 8),
         # Two to a byte.
         "fp4": ("mxf4", 1, 0.5, 4, 1, 1)}


def encode(kind, value):
    """The bits of a small integer."""
    if kind == "f16":
        return struct.unpack("<H", struct.pack("<e", value))[0]
    if kind in ("bf16", "tf32"):
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        return bits >> 16 if kind == "bf16" else bits
    if kind in ("u8", "s8"):
        return value & 0xff
    _, _, _, width, fraction, bias = TYPES[kind]
    magnitude = abs(value)
    sign = (value < 0) << (width - 1)
    if magnitude == 0:
        return sign
    exponent = magnitude.bit_length() - 1
    rest = (magnitude << fraction >> exponent) & ((1 << fraction) - 1)
    return sign | (exponent + bias) << fraction | rest


def place(kind, start, swizzle_bits, transposed, k_total, row, k):
    """The 16 bytes and the element in them, and the descriptor's strides."""
    size = TYPES[kind][2]
    per_unit, width = int(16 / size), 1 << swizzle_bits
    wide = kind == "tf32" and transposed
    rows = 4 if wide else 8
    if not transposed:
        pitch = 16 * width
        stride, leading = (8 * pitch, 128) if swizzle_bits else (256, 128)
        unit = k // per_unit * (16 if swizzle_bits else leading)
        linear = row % 8 * pitch + row // 8 * stride + unit
        element = k % per_unit
    elif swizzle_bits == 0:
        leading, stride = 128, 128 * (k_total // 8)
        linear = row // per_unit * stride + k % 8 * 16 + k // 8 * leading
        element = row % per_unit
    else:
        stride = rows * width * 16
        leading = stride * (k_total // rows)
        linear = (row // per_unit % width * 16 +
                  row // (per_unit * width) * leading +
                  k % rows * width * 16 + k // rows * stride)
        element = row % per_unit
    address = start + linear
    address = address ^ (address >> 7 & 3) << 5 if wide else \
        swizzle(address, swizzle_bits)
    return address, element, leading, stride


def lay_out(kind, start, matrix, swizzle_bits, transposed, image):
    """Puts a matrix into an image of shared memory; its descriptor."""
    _, _, size, bits = TYPES[kind][:4]
    k_total = len(matrix[0])
    for row, values in enumerate(matrix):
        for k, value in enumerate(values):
            unit, element, leading, stride = place(
                kind, start, swizzle_bits, transposed, k_total, row, k)
            data = encode(kind, value)
            if bits >= 8:
                at = unit + element * size
                image[at:at + size] = data.to_bytes(size, "little")
            else:
                whole = int.from_bytes(image[unit:unit + 16], "little")
                whole |= data << element * bits
                image[unit:unit + 16] = whole.to_bytes(16, "little")
    wide = kind == "tf32" and transposed
    code = 1 if wide else (0, 6, 4, 2)[swizzle_bits]
    return ((start + 1024) >> 4 | leading >> 4 << 16 | stride >> 4 << 32 |
            1 << 46 | code << 61)


def make_frame(group, image, columns, fill, prepare, issue, registers=""):
    """A kernel that copies `image` bytes to shared memory, fills `columns` of
    tensor memory with %r6 as `fill` makes it for column %r5, has one thread
    `issue` something that it commits, and writes out what the columns hold then.
    %r2 is their address, and %rd5 that of the thread's row outside."""
    everybody = "" if group == 1 else \
        "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n"
    commit = (".shared::cluster.multicast::cluster.b64 [%r9], %rs1"
              if group == 2 else ".shared::cluster.b64 [%r9]")
    return f""".version 8.7
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 image, .param .u64 cells)
.reqntid 128
.reqnctapercluster {group}
{{
  .reg .pred %p<6>;
  .reg .b32 %r<20>;
  .reg .b16 %rs<2>;
{registers}  .reg .b64 %rd<16>;
  .shared .align 1024 .b8 tile[{image}];
  .shared .align 8 .b8 bars[16];
  .shared .align 4 .b8 slot[4];
  ld.param.u64 %rd1, [image];
  ld.param.u64 %rd2, [cells];
  mov.u32 %r1, %tid.x;
  mov.u32 %r10, %cluster_ctarank;
  mul.wide.u32 %rd3, %r10, {image};
  add.s64 %rd1, %rd1, %rd3;
  mul.wide.u32 %rd3, %r10, {128 * columns * 4};
  add.s64 %rd2, %rd2, %rd3;
  setp.eq.u32 %p1, %r1, 0;
  setp.lt.u32 %p2, %r1, 32;
  @%p1 mbarrier.init.shared.b64 [bars], 1;
  @%p1 mbarrier.init.shared.b64 [bars+8], 1;
  @%p1 fence.mbarrier_init.release.cluster;
  @!%p2 bra READY;
  tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [slot], {columns};
READY:
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
{everybody}  @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bars], {image};
  @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], {image}, [bars];
  ld.shared.b32 %r2, [slot];
  shr.u32 %r3, %r1, 5;
  shl.b32 %r3, %r3, 21;
  add.s32 %r4, %r2, %r3;
  mul.wide.u32 %rd4, %r1, {columns * 4};
  add.s64 %rd5, %rd2, %rd4;
  mov.u32 %r5, 0;
FILL:
{fill}  add.s32 %r7, %r4, %r5;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r7], {{%r6}};
  add.s32 %r5, %r5, 1;
  setp.lt.u32 %p3, %r5, {columns};
  @%p3 bra FILL;
  tcgen05.wait::st.sync.aligned;
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p4, [bars], 0;
  @!%p4 bra WAIT;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
{everybody}  tcgen05.fence::after_thread_sync;
  mov.b16 %rs1, 3;
  mov.u32 %r9, bars;
  add.s32 %r9, %r9, 8;
  setp.ne.u32 %p5, %r10, 0;
{prepare}  @%p5 bra ISSUED;
  @!%p1 bra ISSUED;
{issue}  tcgen05.commit.cta_group::{group}.mbarrier::arrive::one{commit};
ISSUED:
  mbarrier.try_wait.parity.shared.b64 %p4, [bars+8], 0;
  @!%p4 bra ISSUED;
  tcgen05.fence::after_thread_sync;
  mov.u32 %r5, 0;
DUMP:
  add.s32 %r7, %r4, %r5;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r6}}, [%r7];
  tcgen05.wait::ld.sync.aligned;
  mul.wide.u32 %rd8, %r5, 4;
  add.s64 %rd9, %rd5, %rd8;
  st.global.b32 [%rd9], %r6;
  add.s32 %r5, %r5, 1;
  setp.lt.u32 %p3, %r5, {columns};
  @%p3 bra DUMP;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
{everybody}  @!%p2 bra DONE;
  tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;
  tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 %r2, {columns};
DONE:
  ret;
}}
"""


def make_kernel(case, descriptors, instruction):
    group, kind = case["group"], case["kind"]
    a = f"[%r2+{A_COLUMN}]" if case["tensor_a"] else "%rd6"
    more = f", [%r2+{SCALE_A}], [%r2+{SCALE_B}]" if "mx" in kind else ""
    mma = "mma.ws" if case["stationary"] else "mma"
    tail = f", {case['scale']}" if case["scale"] else ""
    mask = ""
    if case["mask"]:
        words = ["%m0", "%m2", "%m1", "%m2"] * group
        mask = ", {" + ", ".join(words) + "}"
    fill = """  mul.wide.u32 %rd8, %r5, 4;
  add.s64 %rd9, %rd5, %rd8;
  ld.global.b32 %r6, [%rd9];
"""
    prepare = f"""  mov.b64 %rd6, {descriptors[0]};
  mov.b64 %rd7, {descriptors[1]};
  mov.b32 %r8, {instruction};
  mov.b32 %m0, 0xffff;
  mov.b32 %m1, 1;
  mov.b32 %m2, 0;
  setp.ne.b32 %p3, {int(case["accumulates"])}, 0;
"""
    issue = (f"  tcgen05.{mma}.cta_group::{group}.kind::{kind} [%r2+{D_COLUMN}], "
             f"{a}, %rd7, %r8{more}{mask}, %p3{tail};\n")
    return make_frame(group, IMAGE, COLUMNS, fill, prepare, issue,
                      "  .reg .b32 %m<3>;\n")


def write_npy(path, data):
    header = ("{'descr': '<i4', 'fortran_order': False, 'shape': "
              f"({len(data) // 4},), }}")
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                   header.encode() + bytes(data))


def run(tool, scratch, group, cells, *options):
    """Runs a kernel of make_frame on an image; the cells that it leaves, and what
    went wrong."""
    result = subprocess.run(
        [tool, scratch, "--arg", f"image=i32:{scratch}.image.npy", "--arg",
         f"cells=i32:{cells}", "--print", "cells", f"--grid={group}", *options],
        capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        return [], result.stderr or f"exit status {result.returncode}"
    line = next(x for x in result.stdout.splitlines()
                if x.startswith("cells:"))
    return [int(x) & 0xffffffff for x in line.split()[1:]], ""


def describe_cell(at, columns, got, want):
    return (f"CTA {at // columns // 128}, lane {at // columns % 128}, "
            f"column {at % columns}: {got:#x}, not {want:#x}")


def get_scales(case):
    """Of each row; where they begin in a cell of A and of B; their type."""
    kind = case["kind"]
    if "mxf8" in kind:
        return 1, 1, 2, "ue8m0"
    if "4X" in kind or "block16" in kind:
        return 4, 0, 0, "ue4m3"
    return 2, 2, 0, "ue8m0"


def make_instruction(case):
    if "mxf4" in case["kind"]:
        _, first_a, first_b, kind = get_scales(case)
        return (first_b << 4 | 1 << 7 | 1 << 10 | case["n"] >> 3 << 17 |
                int(kind == "ue8m0") << 23 | case["m"] >> 7 << 27 |
                first_a << 29)
    if "mx" in case["kind"]:
        return (TYPES[case["a"]][1] << 7 | TYPES[case["b"]][1] << 10 |
                case["n"] >> 3 << 17 | 1 << 23 | case["m"] >> 7 << 27 |
                1 << 29 | 2 << 4 | case["transposed"][0] << 15 |
                case["transposed"][1] << 16)
    code = {"f16": 0, "f32": 1, "s32": 2}[case["d"]]
    return (code << 4 | case["saturates"] << 3 | TYPES[case["a"]][1] << 7 |
            TYPES[case["b"]][1] << 10 | case["negate"] << 13 |
            case["transposed"][0] << 15 | case["transposed"][1] << 16 |
            case["n"] >> 3 << 17 | case["m"] >> 4 << 24)


def d_cell(case, row, n):
    """The CTA, lane and column of an element of D."""
    group, m = case["group"], case["m"]
    if case["stationary"]:
        columns = case["n"] * m // 128
        return 0, row + m * (n // columns), n % columns
    if group == 2 and m == 128:
        half = case["n"] // 2
        return row // 64, row % 64 + 64 * (n // half), n % half
    if m == 64:
        return 0, row % 16 + 32 * (row // 16), n
    return row // 128, row % 128, n


def a_lanes(case, row):
    if case["group"] == 2 and case["m"] == 128:
        return [row, row + 64]
    return [row % 16 + 32 * (row // 16)] if case["m"] == 64 else [row]


def encode_d(case, value):
    if case["d"] == "s32":
        return value & 0xffffffff
    return encode("f16" if case["d"] == "f16" else "tf32", value)


def get_old(case, lane, column):
    """What D is before."""
    if case["saturates"]:
        return 0x7fffffff - lane if column % 2 else -0x80000000 + lane
    return (lane * 3 + column) % 16


def fill_cells(case, a, cells, scales):
    """What tensor memory holds before: D, A, and scales."""
    rows = case["m"] // case["group"]
    size = TYPES[case["a"]][2]
    for cta in range(case["group"]):
        base = cta * 128 * COLUMNS
        for lane in range(128):
            for column in range(A_COLUMN):
                old = get_old(case, lane, column)
                word = encode_d(case, old)
                cells[base + lane * COLUMNS + column] = word
        if case["tensor_a"]:
            for row in range(rows):
                for k, value in enumerate(a[cta * rows + row]):
                    bits = encode(case["a"], value) << int(k * size * 8) % 32
                    for lane in a_lanes(case, row):
                        cells[base + lane * COLUMNS + A_COLUMN +
                              int(k * size) // 4] |= bits
        if "mx" in case["kind"]:
            _, first_a, first_b, _ = get_scales(case)
            for lane in range(128):
                for index in range(4):
                    at = base + lane * COLUMNS
                    row = cta * rows + lane % 32 + 32 * index
                    if row < len(scales[0]):
                        cells[at + SCALE_A + index] = pack(scales[0][row],
                                                           first_a)
                    column = lane % 32 + 32 * index
                    if column < len(scales[1]):
                        cells[at + SCALE_B + index] = pack(scales[1][column],
                                                           first_b)


def pack(scales, first):
    return sum(scale << 8 * (first + i) for i, scale in enumerate(scales))


def decode_scale(kind, bits):
    if kind == "ue8m0":
        return 2.0 ** (bits - 127)
    return (8 + bits % 8) / 8 * 2.0 ** (bits // 8 - 7)


def check(tool, scratch, case, numerics):
    rng = random.Random(case["n"])
    size = TYPES[case["a"]][2]
    k_total = int(32 / size)
    group, m, n = case["group"], case["m"], case["n"]
    values = [0, 1, 2, 3, 4, 6, -1, -2, -3, -4, -6]
    wide = [abs(v) * 40 for v in values]
    a = [[rng.choice(values) for _ in range(k_total)] for _ in range(m)]
    b = [[rng.choice(wide if case["b"] == "u8" else values)
          for _ in range(k_total)] for _ in range(n)]
    each, _, _, scale_kind = get_scales(case)
    # Powers of two, or eighths from 1 to 2.
    least, most = (126, 130) if scale_kind == "ue8m0" else (56, 64)
    scales = [[[rng.randrange(least, most) for _ in range(each)]
               for _ in range(count)] for count in (m, n)]
    images = bytearray()
    for cta in range(group):
        image = bytearray(IMAGE)
        part_a = a[cta * m // group:(cta + 1) * m // group]
        part_b = b[cta * n // group:(cta + 1) * n // group]
        descriptors = [
            lay_out(case["a"], 0, part_a, case["swizzles"][0],
                    case["transposed"][0], image),
            lay_out(case["b"], B_START, part_b, case["swizzles"][1],
                    case["transposed"][1], image)]
        images += image
    cells = [0] * (group * 128 * COLUMNS)
    fill_cells(case, a, cells, scales)
    before = list(cells)
    with open(scratch, "w") as file:
        file.write(make_kernel(case, descriptors, make_instruction(case)))
    write_npy(scratch + ".image.npy", images)
    write_npy(scratch + ".cells.npy", struct.pack(f"<{len(cells)}I", *cells))
    got, wrong = run(tool, scratch, group, f"{scratch}.cells.npy",
                     f"--numerics={numerics}")
    if wrong:
        return wrong
    want = list(before)
    for row in range(m):
        for column in range(n):
            cta, lane, at = d_cell(case, row, column)
            at += (cta * 128 + lane) * COLUMNS
            if case["mask"] and (lane < 16 or lane == 64):
                continue
            total = sum(x * y for x, y in zip(a[row], b[column]))
            total = -total if case["negate"] else total
            if "mx" in case["kind"]:
                block = k_total // each
                total = sum(
                    sum(a[row][k] * b[column][k]
                        for k in range(block * i, block * i + block)) *
                    decode_scale(scale_kind, scales[0][row][i]) *
                    decode_scale(scale_kind, scales[1][column][i])
                    for i in range(each))
            if case["accumulates"]:
                old = get_old(case, lane, at % COLUMNS)
                total += old / 2 ** case["scale"] if case["scale"] else old
            if case["saturates"]:
                total = max(-0x80000000, min(0x7fffffff, total))
            want[at] = 0x7fff << 16 | encode("f16", total) \
                if case["d"] == "f16" else encode_d(case, total)
    for at, (x, y) in enumerate(zip(got, want)):
        # Both zeros are right.
        if x != y and (x | y) & 0x7fffffff:
            return describe_cell(at, COLUMNS, x, y)
    return ""


def make_cases():
    plain = {"group": 1, "m": 128, "n": 32, "d": "f32", "a": "bf16",
             "b": "bf16", "kind": "f16", "swizzles": (3, 3),
             "transposed": (0, 0), "negate": 0, "accumulates": False,
             "scale": 0, "tensor_a": False, "mask": False,
             "stationary": False, "saturates": 0}
    # Layouts of D, by shape, with A in shared or tensor memory.
    for group, m, tensor_a in itertools.product((1, 2), (64, 128, 256),
                                                (False, True)):
        if m // 128 <= group <= m // 64:
            yield dict(plain, group=group, m=m, tensor_a=tensor_a,
                       accumulates=True, n=48)
    # Types, swizzles and majors.
    for kind in TYPES:
        if kind in ("u8", "s8", "fp4"):
            continue
        for bits in range(4):
            for transposed in itertools.product((0, 1), repeat=2):
                packed = TYPES[kind][3] < 8
                if any(transposed) and (packed or
                                        kind == "tf32" and bits != 3):
                    continue
                n = 64 if transposed[1] else 24
                swizzles = (bits, bits if any(transposed) else 3 - bits)
                yield dict(plain, kind=TYPES[kind][0], a=kind, b=kind, n=n,
                           swizzles=swizzles, transposed=transposed)
    yield dict(plain, kind="f8f6f4", a="e4m3", b="e5m2", tensor_a=True)
    yield dict(plain, kind="f8f6f4", a="e4m3", b="e2m1", d="f16")
    yield dict(plain, kind="tf32", a="tf32", b="tf32", tensor_a=True)
    yield dict(plain, a="f16", b="f16", d="f16", accumulates=True)
    yield dict(plain, negate=1, accumulates=True)
    yield dict(plain, accumulates=True, scale=2)
    for group in (1, 2):
        yield dict(plain, mask=True, accumulates=True, group=group,
                   m=128 * group)
        for accumulates in (False, True):
            yield dict(plain, kind="mxf8f6f4.block_scale.scale_vec::1X", a="e4m3", b="e5m2",
                       accumulates=accumulates, group=group, m=128 * group)
    yield from make_other_kinds(plain)


def make_other_kinds(plain):
    # Integers.
    integers = dict(plain, kind="i8", d="s32", a="s8", b="s8")
    for bits, b in itertools.product(range(4), ("u8", "s8")):
        yield dict(integers, b=b, swizzles=(bits, 3 - bits),
                   accumulates=bits % 2)
    yield dict(integers, transposed=(1, 1), n=64)
    yield dict(integers, m=64, tensor_a=True)
    yield dict(integers, group=2, m=256)
    yield dict(integers, accumulates=True, saturates=1)
    # B stays: other layouts of D.
    for m, kind in itertools.product((32, 64, 128), ("bf16", "e4m3", "tf32")):
        yield dict(plain, kind=TYPES[kind][0], a=kind, b=kind, m=m, n=64,
                   stationary=True, accumulates=True)
    yield dict(integers, m=32, n=64, stationary=True)
    yield dict(plain, m=128, n=64, stationary=True, tensor_a=True)
    # Four bits, with two or four scales of a row.
    for mode, bits in (("mxf4.block_scale", 3), ("mxf4.block_scale", 1),
                       ("mxf4nvf4.block_scale.block32", 2),
                       ("mxf4nvf4.block_scale.scale_vec::4X", 3),
                       ("mxf4nvf4.block_scale.scale_vec::4X", 0)):
        for group, accumulates in ((1, False), (1, True), (2, True)):
            yield dict(plain, kind=mode, a="fp4", b="fp4", group=group,
                       m=128 * group, accumulates=accumulates,
                       swizzles=(bits, bits))
    yield dict(plain, kind="mxf4.block_scale", a="fp4", b="fp4",
               tensor_a=True, accumulates=True)


def main():
    tool, scratch = sys.argv[1:]
    count = failures = 0
    for case in make_cases():
        for numerics in ("fast", "exact"):
            wrong = check(tool, scratch, case, numerics)
            count += 1
            if wrong:
                failures += 1
                print(f"{case} {numerics}: {wrong}")
    print(f"{count} products, {failures} failures")


if __name__ == "__main__":
    main()
