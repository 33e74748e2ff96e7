"""Checks every shape of tcgen05.ld and tcgen05.st against PTX ISA 9.7.16.8.

Cells are filled through the plainest shape and read through another, and the
other way round; what lies where is computed here, by an independent program.
"""

import subprocess
import sys

SHAPES = {"32x32b": (1, 128), "16x64b": (1, 128), "16x128b": (2, 64),
          "16x256b": (4, 32), "16x32bx2": (1, 128)}


def cell(shape, count, lane, reg):
    """The cell of a register, relative to the address."""
    if shape == "32x32b":
        return lane, reg
    if shape == "16x64b":
        return lane // 4 + 8 * (lane & 1), (lane >> 1 & 1) + 2 * reg
    if shape == "16x128b":
        return lane // 4 + 8 * (reg & 1), (lane & 3) + 4 * (reg >> 1)
    if shape == "16x256b":
        return (lane // 4 + 8 * (reg >> 1 & 1),
                2 * (lane & 3) + (reg & 1) + 8 * (reg >> 2))
    return lane % 16, reg if lane < 16 else count + reg


def make_kernel(shape, count, packed, is_store):
    registers = SHAPES[shape][0] * count
    names = "{" + ", ".join(f"%d{i}" for i in range(registers)) + "}"
    split = f", {count * (2 if packed else 1)}" if shape == "16x32bx2" else ""
    pack = (".unpack::16b" if is_store else ".pack::16b") if packed else ""
    if is_store:
        fill = "".join(f"  mad.lo.s32 %d{i}, %r1, 1024, {i};\n"
                       for i in range(registers))
        odd = (f"  tcgen05.st.sync.aligned.{shape}.x{count}{pack}.b32 "
               f"[%r4]{split}, {names};\n  tcgen05.wait::st.sync.aligned;\n")
        loads = "".join(
            f"  tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%e0}}, [%r5+{c}];\n"
            "  tcgen05.wait::ld.sync.aligned;\n"
            f"  st.global.b32 [%rd3+{4 * c}], %e0;\n" for c in range(256))
        start = "  mov.b32 %e0, 0;\n" + "".join(
            f"  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r5+{c}], {{%e0}};\n"
            for c in range(256)) + "  tcgen05.wait::st.sync.aligned;\n"
        body = start + fill + odd + loads
    else:
        body = "".join(
            f"  mad.lo.s32 %e0, %r6, 512, {c};\n"
            f"  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r5+{c}], {{%e0}};\n"
            for c in range(256))
        body += ("  tcgen05.wait::st.sync.aligned;\n"
                 f"  tcgen05.ld.sync.aligned.{shape}.x{count}{pack}.b32 "
                 f"{names}, [%r4]{split};\n  tcgen05.wait::ld.sync.aligned;\n")
        body += "".join(f"  st.global.b32 [%rd3+{4 * i}], %d{i};\n"
                        for i in range(registers))
    return f""".version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 lane)
.reqntid 128
{{
  .reg .pred %p<3>;
  .reg .b32 %r<9>;
  .reg .b32 %d<128>, %e<2>;
  .reg .b64 %rd<5>;
  .shared .align 4 .b8 slot[4];
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r7, [lane];
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 32;
  @!%p1 bra READY;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 256;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
READY:
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %r2, [slot];
  shr.u32 %r3, %r1, 5;
  shl.b32 %r3, %r3, 21;
  add.s32 %r5, %r2, %r3;
  // The lane in tensor memory that 32x32b gives to this thread.
  mov.u32 %r6, %r1;
  shl.b32 %r8, %r7, 16;
  add.s32 %r4, %r5, %r8;
  mul.wide.u32 %rd2, %r1, 1024;
  add.s64 %rd3, %rd1, %rd2;
{body}
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  @!%p1 bra DONE;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 256;
DONE:
  ret;
}}
"""


def run(tool, path, lane):
    result = subprocess.run(
        [tool, path, "--arg", "out=i32:zeros:32768", "--arg", f"lane={lane}",
         "--print", "out"], capture_output=True, text=True, timeout=120)
    if result.returncode != 0:
        return None, result.stderr
    line = next(x for x in result.stdout.splitlines() if x.startswith("out:"))
    return [int(x) & 0xffffffff for x in line.split()[1:]], ""


def check(tool, path, shape, count, packed, is_store, lane):
    with open(path, "w") as file:
        file.write(make_kernel(shape, count, packed, is_store))
    got, error = run(tool, path, lane)
    if got is None:
        return error
    registers = SHAPES[shape][0] * count
    for thread in range(128):
        base = thread // 32 * 32 + lane
        for reg in range(registers):
            row, column = cell(shape, count, thread % 32, reg)
            row += base
            cells = [2 * column, 2 * column + 1] if packed else [column]
            values = [got[row * 256 + c] if is_store else row * 512 + c
                      for c in cells]
            want = thread * 1024 + reg if is_store else \
                got[thread * 256 + reg]
            found = values[0] if not packed else \
                values[0] & 0xffff | (values[1] & 0xffff) << 16
            if found != want:
                return f"thread {thread}, register {reg}: {found}, not {want}"
    return ""


def main():
    tool, path = sys.argv[1:]
    count = failures = 0
    for shape, (registers, most) in SHAPES.items():
        for power in range(8):
            repeat = 1 << power
            for packed in (False, True):
                columns = {"32x32b": 1, "16x64b": 2, "16x128b": 4,
                           "16x256b": 8, "16x32bx2": 2}[shape] * repeat
                if repeat > most or columns * (1 + packed) > 256:
                    continue
                for is_store in (False, True):
                    lane = 0 if shape == "32x32b" or power % 2 else 16
                    wrong = check(tool, path, shape, repeat, packed, is_store,
                                  lane)
                    count += 1
                    if wrong:
                        failures += 1
                        print(f"{'st' if is_store else 'ld'} {shape}.x{repeat}"
                              f" packed {packed} lane {lane}: {wrong}")
    print(f"{count} transfers, {failures} failures")


if __name__ == "__main__":
    main()
