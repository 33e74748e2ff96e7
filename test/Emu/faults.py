"""Writes small kernels, each with one fault, and checks that jfa-emu says so.

Every kernel has a corrected twin, which has to run without a finding.
"""

import subprocess
import sys

PROLOGUE = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
.reqntid 64
{
  .reg .pred %p<8>;
  .reg .b32 %r<16>;
  .reg .f32 %f<8>;
  .reg .b64 %rd<16>;
  .shared .align 1024 .b8 tile[4096];
  .shared .align 8 .b8 bars[64];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r3, tile;
  add.s32 %r3, %r3, %r2;
  setp.eq.u32 %p1, %r1, 0;
  setp.lt.u32 %p2, %r1, 32;
"""

WAIT = "{ .reg .pred c; W: mbarrier.try_wait.parity.shared.b64 c, [bars], 0; " \
       "@c bra D; bra W; D: }\n"

# Of each: what is found, the fault, and the corrected twin.
CASES = {
    "race": ("data race", """
  @%p1 st.shared.b32 [tile], 1;
  @!%p2 ld.shared.b32 %r4, [tile];
""", """
  @%p1 st.shared.b32 [tile], 1;
  bar.sync 0;
  @!%p2 ld.shared.b32 %r4, [tile];
"""),
    "never-written": ("memory never written", """
  ld.shared.b32 %r4, [%r3];
""", """
  st.shared.b32 [%r3], 1;
  ld.shared.b32 %r4, [%r3];
"""),
    "bounds": ("out of bounds", """
  @%p1 st.shared.b32 [tile+300000], 1;
""", """
  @%p1 st.shared.b32 [tile+3000], 1;
"""),
    "misaligned": ("misaligned", """
  @%p1 st.shared.b32 [tile+2], 1;
""", """
  @%p1 st.shared.b32 [tile+4], 1;
"""),
    "deadlock": ("deadlock", """
  @%p1 mbarrier.init.shared.b64 [bars], 2;
  bar.sync 0;
  @%p1 mbarrier.arrive.shared.b64 %rd2, [bars];
""" + WAIT, """
  @%p1 mbarrier.init.shared.b64 [bars], 1;
  bar.sync 0;
  @%p1 mbarrier.arrive.shared.b64 %rd2, [bars];
""" + WAIT),
    "no-barrier": ("illegal operation", """
  @%p1 mbarrier.arrive.shared.b64 %rd2, [bars];
""", """
  @%p1 mbarrier.init.shared.b64 [bars], 1;
  @%p1 mbarrier.arrive.shared.b64 %rd2, [bars];
"""),
    "unbalanced": ("unbalanced barrier", """
  @%p1 mbarrier.init.shared.b64 [bars], 2;
  @%p1 mbarrier.arrive.shared.b64 %rd2, [bars];
""", """
  @%p1 mbarrier.init.shared.b64 [bars], 2;
  @%p1 mbarrier.arrive.shared.b64 %rd2, [bars], 2;
"""),
    "relaxed": ("data race", """
  @%p1 mbarrier.init.shared.b64 [bars], 1;
  bar.sync 0;
  @%p1 st.shared.b32 [tile], 1;
  @%p1 mbarrier.arrive.relaxed.cta.shared.b64 _, [bars];
""" + WAIT + """
  ld.shared.b32 %r4, [tile];
""", """
  @%p1 mbarrier.init.shared.b64 [bars], 1;
  bar.sync 0;
  @%p1 st.shared.b32 [tile], 1;
  @%p1 mbarrier.arrive.release.cta.shared.b64 _, [bars];
""" + WAIT + """
  ld.shared.b32 %r4, [tile];
"""),
    "relaxed-wait": ("data race", """
  @%p1 mbarrier.init.shared.b64 [bars], 1;
  bar.sync 0;
  @%p1 st.shared.b32 [tile], 1;
  @%p1 mbarrier.arrive.shared.b64 _, [bars];
""" + WAIT.replace(".parity", ".parity.relaxed.cta") + """
  ld.shared.b32 %r4, [tile];
""", """
  @%p1 mbarrier.init.shared.b64 [bars], 1;
  bar.sync 0;
  @%p1 st.shared.b32 [tile], 1;
  @%p1 mbarrier.arrive.shared.b64 _, [bars];
""" + WAIT.replace(".parity", ".parity.acquire.cta") + """
  ld.shared.b32 %r4, [tile];
"""),
    "no-complete": ("illegal operation", """
  @%p1 mbarrier.init.shared.b64 [bars], 2;
  @%p1 mbarrier.arrive.noComplete.shared.b64 %rd2, [bars], 1;
  @%p1 mbarrier.arrive_drop.noComplete.shared.b64 %rd2, [bars], 1;
""", """
  @%p1 mbarrier.init.shared.b64 [bars], 2;
  @%p1 mbarrier.arrive.noComplete.shared.b64 %rd2, [bars], 1;
  @%p1 mbarrier.arrive_drop.expect_tx.shared.b64 %rd2, [bars], 0;
"""),
    "too-many-arrivals": ("illegal operation", """
  @%p1 mbarrier.init.shared.b64 [bars], 1;
  @%p1 mbarrier.arrive.shared.b64 %rd2, [bars], 2;
""", """
  @%p1 mbarrier.init.shared.b64 [bars], 2;
  @%p1 mbarrier.arrive.shared.b64 %rd2, [bars], 2;
"""),
    "bulk-fence": ("missing proxy fence", """
  st.shared.b32 [%r3], %r1;
  bar.sync 0;
  @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 256;
  @%p1 cp.async.bulk.commit_group;
  @%p1 cp.async.bulk.wait_group.read 0;
""", """
  st.shared.b32 [%r3], %r1;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 256;
  @%p1 cp.async.bulk.commit_group;
  @%p1 cp.async.bulk.wait_group.read 0;
"""),
    "bulk-unwaited": ("not waited for", """
  st.shared.b32 [%r3], %r1;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 256;
  @%p1 cp.async.bulk.commit_group;
""", """
  st.shared.b32 [%r3], %r1;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 256;
  @%p1 cp.async.bulk.commit_group;
  @%p1 cp.async.bulk.wait_group 0;
"""),
    "bulk-load": ("data race", """
  @%p1 mbarrier.init.shared.b64 [bars], 1;
  bar.sync 0;
  @%p1 mbarrier.arrive.expect_tx.shared.b64 %rd2, [bars], 256;
  @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 256, [bars];
  ld.shared.b32 %r4, [%r3];
""" + WAIT, """
  @%p1 mbarrier.init.shared.b64 [bars], 1;
  bar.sync 0;
  @%p1 mbarrier.arrive.expect_tx.shared.b64 %rd2, [bars], 256;
  @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 256, [bars];
""" + WAIT + """
  ld.shared.b32 %r4, [%r3];
"""),
    "apart": ("lanes apart", """
  @%p1 bar.sync 0;
""", """
  bar.sync 0;
"""),
    "shuffle": ("lanes apart", """
  @%p1 shfl.sync.idx.b32 %r4, %r1, 3, 31, 1;
""", """
  @%p1 shfl.sync.idx.b32 %r4, %r1, 0, 31, 1;
"""),
    "named-count": ("named barrier misused", """
  @%p2 bra FIRST;
  bar.sync 1, 64;
  bra END;
FIRST:
  bar.sync 1, 96;
END:
""", """
  @%p2 bra FIRST;
  bar.sync 1, 64;
  bra END;
FIRST:
  bar.sync 1, 64;
END:
"""),
    # The second arrival may be counted with the first, in whatever order they are.
    "named-not-completed": ("named barrier misused", """
  @%p2 bra FIRST;
  bar.sync 1, 64;
  bar.sync 1, 64;
  bra END;
FIRST:
  barrier.arrive 1, 64;
  barrier.arrive 1, 64;
END:
""", """
  @%p2 bra FIRST;
  bar.sync 1, 64;
  bar.sync 2, 64;
  bar.sync 1, 64;
  bra END;
FIRST:
  barrier.arrive 1, 64;
  bar.sync 2, 64;
  barrier.arrive 1, 64;
END:
"""),
}


def run(tool, path, body, schedule):
    with open(path, "w") as file:
        file.write(PROLOGUE + body + "  ret;\n}\n")
    return subprocess.run(
        [tool, path, "--arg", "out=i32:iota:64", f"--schedule={schedule}"],
        capture_output=True, text=True, timeout=60)


def main():
    tool, path = sys.argv[1:]
    failures = 0
    for name, (fault, wrong, right) in CASES.items():
        for schedule in ("eager", "late", "random:1"):
            result = run(tool, path, wrong, schedule)
            if result.returncode != 2 or not any(
                    f": error: {kind}: " in result.stderr
                    for kind in fault.split("|")):
                print(f"{name} under {schedule}: expected '{fault}', but got:\n"
                      f"{result.stdout}{result.stderr}")
                failures += 1
            result = run(tool, path, right, schedule)
            if result.returncode != 0:
                print(f"{name}, corrected, under {schedule}: {result.stderr}")
                failures += 1
    print(f"{len(CASES)} faults, {failures} failures")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
