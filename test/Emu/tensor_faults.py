"""Writes small kernels of tensor memory, each with one fault, and corrected twins."""

import sys

import faults

PROLOGUE = """.version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out)
.reqntid 64
{
  .reg .pred %p<8>;
  .reg .b16 %rs<4>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<16>;
  .shared .align 1024 .b8 tile[16384];
  .shared .align 8 .b8 bars[64];
  .shared .align 4 .b8 slot[8];
  mov.u32 %r1, %tid.x;
  shr.u32 %r2, %r1, 5;
  setp.eq.u32 %p1, %r1, 0;
  setp.lt.u32 %p2, %r1, 32;
  shl.b32 %r4, %r2, 21;
  // Two matrices of zeros, without a swizzle.
  mov.b64 %rd2, 0x0000401000080040;
  mov.b32 %r5, 0x08040490;
  shl.b32 %r6, %r1, 2;
  mov.u32 %r7, tile;
  add.s32 %r6, %r6, %r7;
  mov.b32 %r8, 0;
  mov.b32 %r9, 0;
ZERO:
  st.shared.b32 [%r6], %r8;
  add.s32 %r6, %r6, 256;
  add.s32 %r9, %r9, 1;
  setp.lt.u32 %p3, %r9, 64;
  @%p3 bra ZERO;
  fence.proxy.async.shared::cta;
  @%p1 mbarrier.init.shared.b64 [bars], 1;
  @%p1 mbarrier.init.shared.b64 [bars+8], 1;
  mov.u32 %r10, bars;
"""
ALLOCATE = """
  @!%p2 bra ALLOCATED;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
ALLOCATED:
  bar.sync 0;
  ld.shared.b32 %r3, [slot];
  add.s32 %r4, %r4, %r3;
"""
FREE = """
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  @!%p2 bra FREED;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 64;
FREED:
"""
STORE = """
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r4], {%r1};
  tcgen05.wait::st.sync.aligned;
"""
LOAD = """
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r8}, [%r4];
  tcgen05.wait::ld.sync.aligned;
"""
MULTIPLY = """
  setp.ne.b32 %p4, 0, 0;
  @%p1 tcgen05.mma.cta_group::1.kind::f16 [%r3], %rd2, %rd2, %r5, %p4;
"""
COMMIT = """
  @%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r10];
"""
WAIT = """
  { .reg .pred c; W: mbarrier.try_wait.parity.shared.b64 c, [bars], 0;
    @c bra D; bra W; D: }
"""
AFTER = "  tcgen05.fence::after_thread_sync;\n"
BEFORE = "  tcgen05.fence::before_thread_sync;\n"


def wrap(body):
    return ALLOCATE + body + FREE


CASES = {
    "leak": ("memory leak", ALLOCATE, wrap("")),
    "columns": ("illegal operation",
                wrap("").replace("[slot], 64", "[slot], 48"), wrap("")),
    "dealloc-columns": ("illegal operation",
                        wrap("").replace("%r3, 64", "%r3, 32"), wrap("")),
    "permit": ("illegal operation", ALLOCATE + """
  @!%p2 bra AGAIN;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot+4], 32;
AGAIN:
""" + FREE, ALLOCATE + """
  @!%p2 bra AGAIN;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot+4], 32;
  ld.shared.b32 %r8, [slot+4];
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, 32;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
AGAIN:
""" + FREE),
    "growing": ("illegal operation", ALLOCATE + """
  @!%p2 bra AGAIN;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot+4], 128;
AGAIN:
""" + FREE, wrap("")),
    "full": ("deadlock", wrap("""
  @!%p2 bra AGAIN;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot+4], 512;
AGAIN:
""").replace("[slot], 64", "[slot], 512").replace("%r3, 64", "%r3, 512"),
             wrap("").replace("[slot], 64", "[slot], 512").replace(
                 "%r3, 64", "%r3, 512")),
    "never-written": ("memory never written", wrap(LOAD),
                      wrap(STORE + LOAD)),
    "window": ("out of bounds", wrap(STORE.replace("[%r4]", "[%r4+64]")),
               wrap(STORE.replace("[%r4]", "[%r4+63]"))),
    "quarter": ("illegal operation", wrap(STORE.replace("[%r4]", "[%r3]")),
                wrap(STORE)),
    "lane": ("misaligned", wrap(STORE.replace("[%r4]", "[%r4+65536]")),
             wrap(STORE)),
    "wait-st": ("data race", wrap(STORE.split(";")[0] + ";\n" + LOAD),
                wrap(STORE + LOAD)),
    "wait-ld": ("register in flight",
                # A read waits for the load (PTX ISA 9.7.16.6.4.5), a write not.
                wrap(STORE + LOAD.split(";")[0] + ";\n  mov.u32 %r8, 1;\n"
                     "  tcgen05.wait::ld.sync.aligned;\n"),
                wrap(STORE + LOAD.split(";")[0] + ";\n  add.s32 %r8, %r8, 1;\n"
                     "  tcgen05.wait::ld.sync.aligned;\n")),
    "no-wait-ld": ("not waited for", wrap(STORE + LOAD.split(";")[0] + ";\n"),
                   wrap(STORE + LOAD)),
    "no-commit": ("deadlock", wrap(MULTIPLY + WAIT + AFTER + LOAD),
                  wrap(MULTIPLY + COMMIT + WAIT + AFTER + LOAD)),
    "early-commit": ("data race", wrap(COMMIT + MULTIPLY + WAIT + AFTER + LOAD),
                     wrap(MULTIPLY + COMMIT + WAIT + AFTER + LOAD)),
    "fence-after": ("missing proxy fence",
                    wrap(MULTIPLY + COMMIT + WAIT + LOAD),
                    wrap(MULTIPLY + COMMIT + WAIT + AFTER + LOAD)),
    "fence-before": ("missing proxy fence",
                     wrap(STORE + "  bar.sync 0;\n" + AFTER + MULTIPLY +
                          COMMIT + WAIT),
                     wrap(STORE + BEFORE + "  bar.sync 0;\n" + AFTER +
                          MULTIPLY + COMMIT + WAIT)),
    "accumulate": ("memory never written",
                   wrap(MULTIPLY.replace("0, 0;", "1, 0;") + COMMIT + WAIT),
                   wrap(MULTIPLY + COMMIT + WAIT)),
    "proxy": ("missing proxy fence", wrap("""
  @%p1 st.shared.b32 [tile], %r8;
""" + MULTIPLY + COMMIT + WAIT), wrap("""
  @%p1 st.shared.b32 [tile], %r8;
  fence.proxy.async.shared::cta;
""" + MULTIPLY + COMMIT + WAIT)),
    "overwrite": ("buffer overwritten while it is read|data race",
                  wrap(MULTIPLY + COMMIT + "  @%p1 st.shared.b32 [tile], 0;\n" +
                       WAIT),
                  wrap(MULTIPLY + COMMIT + WAIT +
                       "  @%p1 st.shared.b32 [tile], 0;\n")),
    "idesc": ("illegal operation", wrap(
        MULTIPLY.replace("  @%p1", "  mov.b32 %r5, 0x08020492;\n  @%p1")),
              wrap(MULTIPLY + COMMIT + WAIT)),
    "descriptor": ("illegal operation", wrap(
        MULTIPLY.replace("  @%p1", "  mov.b64 %rd2, 64;\n  @%p1")),
                   wrap(MULTIPLY + COMMIT + WAIT)),
    "d-lane": ("illegal operation",
               wrap(MULTIPLY.replace("[%r3]", "[%r3+1048576]")),
               wrap(MULTIPLY + COMMIT + WAIT)),
    "d-window": ("out of bounds",
                 wrap(MULTIPLY.replace("[%r3]", "[%r3+56]") + COMMIT + WAIT),
                 wrap(MULTIPLY.replace("[%r3]", "[%r3+48]") + COMMIT + WAIT)),
    "copy": ("data race|memory never written", wrap("""
  @%p1 tcgen05.cp.cta_group::1.128x128b [%r3], %rd2;
""" + LOAD + COMMIT + WAIT), wrap("""
  @%p1 tcgen05.cp.cta_group::1.128x128b [%r3], %rd2;
""" + COMMIT + WAIT + AFTER + LOAD)),
    "apart": ("lanes apart", wrap(STORE).replace(
        "  tcgen05.st", "  @%p1 tcgen05.st"), wrap(STORE)),
    "unfinished": ("not waited for", wrap(MULTIPLY),
                   wrap(MULTIPLY + COMMIT + WAIT)),
}


def main():
    faults.PROLOGUE = PROLOGUE
    faults.CASES = CASES
    return faults.main()


if __name__ == "__main__":
    sys.exit(main())
