# ===- warp.py - Instructions of whole warps *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Shuffles, votes, matches, elections, reductions; ldmatrix and stmatrix."""

from case import Case, make_kernel, make_random, words, zeros

ROUNDS = 64

SHUFFLES = [f"shfl.sync.{mode}.b32" for mode in ("up", "down", "bfly", "idx")]
REDUCTIONS = [f"redux.sync.{op}" for op in
              ("add.u32", "add.s32", "min.u32", "min.s32", "max.u32",
               "max.s32", "and.b32", "or.b32", "xor.b32")]
MATCHES = ["match.any.sync.b32", "match.any.sync.b64", "match.all.sync.b32",
           "match.all.sync.b64"]
VOTES = ["vote.sync.all.pred", "vote.sync.any.pred", "vote.sync.uni.pred",
         "vote.sync.ballot.b32"]

# Each round has a mask, whose lanes go in, and b and c of the shuffle.
WARP = """
ld.param.u64 %rd1, [input];
ld.param.u64 %rd2, [output];
mov.u32 %r1, %laneid;
mov.u32 %r2, 0;
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd2, %rd2, %rd3;
ROUND:
ld.global.b32 %r3, [%rd1];
ld.global.b32 %r4, [%rd1+4];
ld.global.b32 %r5, [%rd1+8];
add.s64 %rd4, %rd1, %rd3;
ld.global.b32 %r6, [%rd4+12];
shr.u32 %r7, %r3, %r1;
and.b32 %r7, %r7, 1;
setp.eq.u32 %p1, %r7, 0;
@%p1 bra NEXT;
and.b32 %r8, %r6, 1;
setp.ne.u32 %p2, %r8, 0;
STEPS
NEXT:
bar.warp.sync 0xffffffff;
add.s64 %rd1, %rd1, 140;
add.s64 %rd2, %rd2, PITCH;
add.s32 %r2, %r2, 1;
setp.lt.u32 %p3, %r2, 64;
@%p3 bra ROUND;
"""


def list_steps():
    """What a round executes, each with a result in %r9 and a name."""
    steps = []
    for op in SHUFFLES:
        steps.append((op, f"{op} %r9|%p4, %r6, %r4, %r5, %r3;\n"
                      "@%p4 xor.b32 %r9, %r9, 0x80000000;"))
    for op in REDUCTIONS:
        steps.append((op, f"{op} %r9, %r6, %r3;"))
    for op in VOTES:
        if "ballot" in op:
            steps.append((op, f"{op} %r9, %p2, %r3;"))
        else:
            steps.append((op, f"{op} %p4, %p2, %r3;\nselp.b32 %r9, 1, 0, %p4;"))
    for op in MATCHES:
        value = "%r10" if op.endswith("32") else "%rd5"
        result = "%r9|%p4" if "all" in op else "%r9"
        steps.append((op, "and.b32 %r10, %r6, 3;\ncvt.u64.u32 %rd5, %r10;\n"
                      f"{op} {result}, {value}, %r3;"))
    steps.append(("elect.sync", "elect.sync %r9|%p4, %r3;\n"
                  "@%p4 xor.b32 %r9, %r9, 0x100;"))
    return steps


def make_warp():
    steps = list_steps()
    body = "\n".join(f"{text}\nst.global.b32 [%rd2+{128 * i}], %r9;"
                     for i, (_, text) in enumerate(steps))
    pitch = 128 * len(steps)
    body = WARP.replace("STEPS", body).replace("PITCH", str(pitch))
    rng = make_random("warp")
    inputs = []
    for i in range(ROUNDS):
        mask = 0xFFFFFFFF if i % 2 else rng.getrandbits(32) | 1
        # A lane must not read one that is not there: full masks have all c.
        c = rng.choice((0, 31, 0x1C1F, 0x181F, 0x1800, 0x101C, 0x0F)) \
            if i % 2 else 0x1F1F
        b = rng.randrange(32) if i % 2 else 0
        inputs += [mask, b, c]
        same = rng.getrandbits(32)
        inputs += [same if i % 8 == 7 else rng.getrandbits(32)
                   for _ in range(32)]
    return Case("warp", make_kernel([".u64 input", ".u64 output"], body, 32),
                [words("input", inputs), zeros("output", ROUNDS * pitch // 4)],
                block=32,
                describe=lambda at: f"{steps[at % pitch // 128][0]}, round "
                                    f"{at // pitch}, lane {at % 128 // 4}")


def make_matrix(count, trans):
    """ldmatrix of rows at random addresses, then stmatrix at others."""
    name = f"matrix_x{count}{trans.replace('.', '_')}"
    registers = ", ".join(f"%r{20 + i}" for i in range(count))
    loads = "\n".join(f"st.global.b32 [%rd2+{128 * i}], %r{20 + i};"
                      for i in range(count))
    dump = "\n".join(f"ld.shared.b32 %r9, [%r8+{128 * i}];\n"
                     f"st.global.b32 [%rd2+{512 + 128 * i}], %r9;"
                     for i in range(4, 8))
    body = f"""
ld.param.u64 %rd1, [input];
ld.param.u64 %rd2, [output];
mov.u32 %r1, %laneid;
mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd1, %rd1, %rd3;
add.s64 %rd2, %rd2, %rd3;
mov.u32 %r7, tile;
shl.b32 %r8, %r1, 2;
add.s32 %r8, %r8, %r7;
mov.u32 %r2, 0;
FILL:
ld.global.b32 %r9, [%rd1];
st.shared.b32 [%r8], %r9;
add.s64 %rd1, %rd1, 128;
add.s32 %r8, %r8, 128;
add.s32 %r2, %r2, 1;
setp.lt.u32 %p1, %r2, 8;
@%p1 bra FILL;
add.s32 %r8, %r8, -1024;
bar.warp.sync 0xffffffff;
ld.global.b32 %r3, [%rd1];
add.s32 %r3, %r3, %r7;
ld.global.b32 %r4, [%rd1+128];
add.s32 %r4, %r4, %r7;
ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{registers}}}, [%r3];
{loads}
bar.warp.sync 0xffffffff;
stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r4+512], {{{registers}}};
bar.warp.sync 0xffffffff;
{dump}
"""
    rng = make_random(name)
    inputs = [rng.getrandbits(32) for _ in range(256)]
    inputs += [16 * rng.randrange(64) for _ in range(32)]
    inputs += [16 * row for row in rng.sample(range(32), 32)]
    return Case(name, make_kernel([".u64 input", ".u64 output"], body, 32,
                                  declarations=".shared .align 128 .b8 "
                                  "tile[1024];"),
                [words("input", inputs), zeros("output", 128 * 12)], block=32)


def get_cases():
    return [make_warp()] + [make_matrix(count, trans) for count in (1, 2, 4)
                            for trans in ("", ".trans")]
