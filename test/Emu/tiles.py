"""Checks tensor copies against what was measured on an H200.

A tile is loaded into shared memory full of sentinels, whose bytes are compared
with a model of swizzles, row pitches and fills; then it is stored, and added, at
other coordinates.
"""

import itertools
import json
import subprocess
import sys

ROWS, COLUMNS, BOX_ROWS = 12, 80, 8
SENTINEL = 0x7777
BYTES = 2048

KERNEL = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 x[128], .param .align 64 .b8 y[128],
                  .param .u64 out, .param .u32 c0, .param .u32 c1,
                  .param .u32 d0, .param .u32 d1)
.reqntid 32
{
  .reg .pred %p<3>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<8>;
  .shared .align 1024 .b8 tile[2048];
  .shared .align 8 .b8 bar[8];
  mov.b64 %rd1, x;
  cvta.param.u64 %rd1, %rd1;
  mov.b64 %rd2, y;
  cvta.param.u64 %rd2, %rd2;
  ld.param.u64 %rd3, [out];
  ld.param.u32 %r3, [c0];
  ld.param.u32 %r4, [c1];
  ld.param.u32 %r5, [d0];
  ld.param.u32 %r6, [d1];
  mov.u32 %r1, %laneid;
  setp.eq.u32 %p1, %r1, 0;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r7, tile;
  add.s32 %r7, %r7, %r2;
  mov.b32 %r8, 0;
FILL:
  st.shared.b32 [%r7], 0x77777777;
  add.s32 %r7, %r7, 128;
  add.s32 %r8, %r8, 1;
  setp.lt.u32 %p2, %r8, 16;
  @%p2 bra FILL;
  @%p1 mbarrier.init.shared.b64 [bar], 1;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [bar], BOX_BYTES;
  @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%rd1, {%r3, %r4}], [bar];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
  @!%p2 bra WAIT;
  mov.u32 %r7, tile;
  ALL_LANES
  @!%p1 bra END;
  cp.async.bulk.global.shared::cta.bulk_group [%rd3], [tile], 2048;
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {%r5, %r6}], [tile];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd2, {%r5, %r6}], [tile];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
END:
  ret;
}
"""

# A store by all lanes of a warp is one if they store the same, as CUTLASS has
# them do; else they race.
STORE = """cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd2, {%r5, %r6}], [%r7];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
"""
OTHER_TILE = "  @!%p1 add.s32 %r7, %r7, 128;\n"


def make_manifest(span, box):
    def tensor(name, offset):
        return {"name": name, "kind": "tensormap", "element": "i16",
                "offset": offset, "size": 128, "swizzle_bytes": span,
                "tile": [BOX_ROWS, box],
                "dims": [{"axis": 1, "box": box, "extent": "axis", "step": 1},
                         {"axis": 0, "box": BOX_ROWS, "extent": "axis",
                          "step": 1}]}

    scalars = [{"name": name, "kind": "scalar", "type": "i32", "size": 4,
                "offset": 264 + 4 * i}
               for i, name in enumerate(("c0", "c1", "d0", "d1"))]
    return {"schema": 1, "kernels": [{
        "entry": "k", "block": [32, 1, 1], "cluster": [1, 1, 1],
        "shared_memory_bytes": 0, "registers": 32,
        "arguments": [tensor("x", 0), tensor("y", 128),
                      {"name": "out", "kind": "pointer", "element": "i32",
                       "offset": 256, "size": 8}] + scalars}]}


def model(span, box, c, d):
    """The halves of shared memory, and those of y."""
    tile = [SENTINEL] * (BYTES // 2)
    y = [0] * (ROWS * COLUMNS)
    pitch = span or box * 2
    mask = {0: 0, 32: 1, 64: 3, 128: 7}[span]
    for row, column in itertools.product(range(BOX_ROWS), range(box)):
        i, j = c[1] + row, c[0] + column
        inside = 0 <= i < ROWS and 0 <= j < COLUMNS
        value = i * COLUMNS + j if inside else 0
        at = row * pitch + column * 2
        tile[(at ^ ((at >> 7 & mask) << 4)) // 2] = value
        i, j = d[1] + row, d[0] + column
        if i < ROWS and j < COLUMNS:
            y[i * COLUMNS + j] = 2 * value
    return tile, y


def run(tool, scratch, span, box, c, d, all_lanes=""):
    with open(scratch, "w") as file:
        file.write(KERNEL.replace("BOX_BYTES", str(BOX_ROWS * box * 2))
                   .replace("ALL_LANES", all_lanes))
    with open(scratch + ".json", "w") as file:
        json.dump(make_manifest(span, box), file)
    shape = f"{ROWS}x{COLUMNS}"
    command = [tool, scratch, f"--manifest={scratch}.json", "--print", "out",
               "--print", "y", "--arg", f"x=iota:{shape}", "--arg",
               f"y=zeros:{shape}", "--arg", f"out=zeros:{BYTES // 4}"]
    for name, value in zip(("c0", "c1", "d0", "d1"), (*c, *d)):
        command += ["--arg", f"{name}={value}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def get_values(result, name):
    line = next(x for x in result.stdout.splitlines()
                if x.startswith(name + ":"))
    return [int(x) for x in line.split()[1:]]


def check(tool, scratch, span, box, c, d, all_lanes=""):
    result = run(tool, scratch, span, box, c, d, all_lanes)
    if result.returncode != 0:
        return result.stderr
    words = get_values(result, "out")
    halves = [w >> shift & 0xffff for w in words for shift in (0, 16)]
    tile, y = model(span, box, c, d)
    if halves != tile:
        at = next(i for i in range(len(tile)) if halves[i] != tile[i])
        return f"half {at} of the tile is {halves[at]}, not {tile[at]}"
    return "" if get_values(result, "y") == y else "y is wrong"


def main():
    tool, scratch = sys.argv[1:]
    count = failures = 0
    for span, c, d in itertools.product(
            (0, 32, 64, 128), ((0, 0), (16, 3), (-8, -2), (72, 9), (800, 0)),
            ((0, 0), (64, 7))):
        for box in ((8, 64) if span == 0 else (span // 2, 8)):
            wrong = check(tool, scratch, span, box, c, d)
            count += 1
            if wrong:
                failures += 1
                print(f"swizzle {span} box {box} from {c} to {d}: {wrong}")
    for span, box in ((0, 64), (64, 32)):
        wrong = check(tool, scratch, span, box, (0, 0), (0, 0), STORE)
        result = run(tool, scratch, span, box, (0, 0), (0, 0),
                     OTHER_TILE + STORE)
        count += 2
        if wrong or ": error: data race: " not in result.stderr:
            failures += 1
            print(f"by all lanes: {wrong}; other tiles: {result.stderr}")
    # What the hardware takes for illegal.
    for c, d, fault in (((4, 0), (0, 0), "misaligned"),
                        ((0, 0), (-8, 0), "illegal operation"),
                        ((0, 0), (0, -1), "illegal operation")):
        result = run(tool, scratch, 0, 64, c, d)
        count += 1
        if f": error: {fault}: " not in result.stderr:
            failures += 1
            print(f"from {c} to {d}: expected '{fault}': {result.stderr}")
    print(f"{count} tiles, {failures} failures")


if __name__ == "__main__":
    main()
