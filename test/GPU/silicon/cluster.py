# ===- cluster.py - CTAs of a cluster *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""What the CTAs of a cluster do in each other's shared memory. Each step leaves
its traces in the tile of 2048 bytes, which the CTA dumps."""

from case import Array, Case, TensorMap, make_kernel, make_random, words, zeros

BLOCK = 64

# %r1 thread, %r2 rank, %r4 the tile, %r5 and %r6 the tile and the mbarrier of
# the next CTA, %rd2 where the CTA dumps; %p1 thread 0.
PROLOGUE = """
ld.param.u64 %rd1, [input];
ld.param.u64 %rd2, [output];
mov.u32 %r1, %tid.x;
setp.eq.u32 %p1, %r1, 0;
mov.u32 %r2, %cluster_ctarank;
mov.u32 %r3, %cluster_nctarank;
add.u32 %r7, %r2, 1;
rem.u32 %r7, %r7, %r3;
mov.u32 %r4, tile;
mapa.shared::cluster.u32 %r5, %r4, %r7;
mov.u32 %r8, bar;
mapa.shared::cluster.u32 %r6, %r8, %r7;
mul.wide.u32 %rd3, %r2, 2048;
add.s64 %rd2, %rd2, %rd3;
shl.b32 %r9, %r1, 4;
add.s32 %r10, %r4, %r9;
st.shared.v4.b32 [%r10], {0x5a5a5a5a, 0x5a5a5a5a, 0x5a5a5a5a, 0x5a5a5a5a};
st.shared.v4.b32 [%r10+1024], {0, 0, 0, 0};
mul.wide.u32 %rd4, %r1, 16;
mad.wide.u32 %rd4, %r2, 1024, %rd4;
add.s64 %rd4, %rd1, %rd4;
ld.global.v4.b32 {%r20, %r21, %r22, %r23}, [%rd4];
@%p1 mbarrier.init.shared.b64 [bar], 1;
@%p1 fence.mbarrier_init.release.cluster;
fence.proxy.async;
barrier.cluster.arrive.release.aligned;
barrier.cluster.wait.acquire.aligned;
"""

EPILOGUE = """
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned;
ld.shared.v4.b32 {%r30, %r31, %r32, %r33}, [%r10];
ld.shared.v4.b32 {%r34, %r35, %r36, %r37}, [%r10+1024];
mul.wide.u32 %rd5, %r1, 16;
add.s64 %rd5, %rd2, %rd5;
st.global.v4.b32 [%rd5], {%r30, %r31, %r32, %r33};
st.global.v4.b32 [%rd5+1024], {%r34, %r35, %r36, %r37};
"""

WAIT = """
WAITING:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], 0;
@!%p2 bra WAITING;
"""


def expect(size):
    return f"@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {size};\n"


STEPS = {
    # Plain stores and loads in the peer's memory, and atomics there.
    "remote": """
add.s32 %r11, %r5, %r9;
st.shared::cluster.v2.b32 [%r11], {%r20, %r21};
atom.shared::cluster.add.u32 %r12, [%r5+1024], %r1;
red.shared::cluster.max.u32 [%r5+1028], %r20;
barrier.cluster.arrive.release;
barrier.cluster.wait.acquire;
ld.shared::cluster.b32 %r13, [%r11+4];
st.shared.b32 [%r10+8], %r13;
""",
    # Special registers, addresses and their ranks.
    "registers": """
getctarank.shared::cluster.u32 %r11, %r5;
getctarank.shared::cluster.u32 %r12, %r4;
mov.u32 %r13, %cluster_ctaid.x;
mov.u32 %r14, %clusterid.x;
st.shared.v4.b32 [%r10], {%r11, %r12, %r13, %r14};
mov.u32 %r11, %nclusterid.x;
mov.u32 %r12, %cluster_nctaid.x;
shr.u32 %r13, %r5, 24;
sub.u32 %r14, %r5, %r4;
st.shared.v4.b32 [%r10+1024], {%r11, %r12, %r13, %r14};
""",
    # Stores that complete bytes of the peer's mbarrier.
    "st_async": expect(64 * 16 + 64 * 4 + 64 * 8) + """
add.s32 %r11, %r5, %r9;
st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r11], {%r20, %r21, %r22, %r23}, [%r6];
shl.b32 %r12, %r1, 2;
add.s32 %r12, %r12, %r5;
st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r12+1024], %r20, [%r6];
shl.b32 %r12, %r1, 3;
add.s32 %r12, %r12, %r5;
mov.b64 %rd6, {%r21, %r22};
st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r12+1280], %rd6, [%r6];
""" + WAIT,
    "red_async": expect(64 * 4 * 3) + """
and.b32 %r12, %r9, 48;
add.s32 %r12, %r12, %r5;
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r12+1024], %r20, [%r6];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.s32 [%r12+1028], %r20, [%r6];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.xor.b32 [%r12+1032], %r20, [%r6];
""" + WAIT,
    # An arrival of the peer, which has written before.
    "remote_arrive": """
add.s32 %r11, %r5, %r9;
st.shared::cluster.v4.b32 [%r11], {%r20, %r21, %r22, %r23};
bar.sync 0;
@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];
""" + WAIT,
    # Half of the tile to the peer.
    "bulk_peer": expect(512) + """
add.s32 %r11, %r4, %r9;
st.shared.v4.b32 [%r11+1024], {%r20, %r21, %r22, %r23};
fence.proxy.async.shared::cta;
bar.sync 0;
@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r5], [%r4+1024], 512, [%r6];
""" + WAIT,
    # Each CTA reads one half for all of them.
    "bulk_multicast": expect(1024) + """
mul.wide.u32 %rd6, %r2, 512;
add.s64 %rd6, %rd6, %rd1;
shl.b32 %r12, %r2, 9;
add.s32 %r12, %r12, %r4;
mov.b16 %h1, 3;
@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r12], [%rd6], 512, [bar], %h1;
""" + WAIT,
    "tensor_multicast": expect(1024) + """
shl.b32 %r12, %r2, 9;
add.s32 %r12, %r12, %r4;
shl.b32 %r13, %r2, 3;
mov.b32 %r14, 0;
mov.b16 %h1, 3;
@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r12], [%rd7, {%r14, %r13}], [bar], %h1;
""" + WAIT,
}


def make_case(step):
    name = f"cluster_{step}"
    rng = make_random(name)
    arrays = [words("input", [rng.getrandbits(32) for _ in range(512)]),
              zeros("output", 1024)]
    parameters, maps, prologue = [".u64 input", ".u64 output"], [], PROLOGUE
    if step == "tensor_multicast":
        parameters.insert(0, ".align 64 .b8 x[128]")
        prologue = "mov.b64 %rd7, x;\ncvta.param.u64 %rd7, %rd7;\n" + prologue
        maps = [TensorMap("x", (16, 16), (16, 8), 64)]
        arrays.append(Array("x", (16, 16), rng.randbytes(1024)))
    return Case(name, make_kernel(
        parameters, prologue + STEPS[step] + EPILOGUE, BLOCK, 2,
        ".shared .align 1024 .b8 tile[2048];\n.shared .align 8 .b8 bar[8];"),
        arrays, maps, 2, BLOCK, 2)


def get_cases():
    return [make_case(step) for step in STEPS]
