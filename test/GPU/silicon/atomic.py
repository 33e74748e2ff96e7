# ===- atomic.py - Atomics and reductions in memory *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Atomics in global and in shared memory: every thread on words of its own, so
that what they return is determined."""

import scalar
from case import Array, Case, make_kernel, make_random, zeros

THREADS = 256


def list_forms(space):
    """Instruction without its space, register kind, number of registers."""
    forms = []
    for op in ("add", "min", "max", "exch", "and", "or", "xor", "inc", "dec",
               "cas"):
        kinds = {"add": ("u32", "s32", "u64"), "exch": ("b32", "b64"),
                 "cas": ("b32", "b64", "b16"), "inc": ("u32",),
                 "dec": ("u32",)}.get(op)
        if op in ("min", "max"):
            kinds = ("u32", "s32", "u64", "s64")
        for kind in kinds or ("b32", "b64"):
            forms.append((op, "", kind))
    forms += [("add", "", "f32"), ("add", "", "f64")]
    # ptxas 13.0 takes the upper halves of pairs in shared memory from the wrong
    # register.
    halves = ("f16", "bf16") + (("f16x2", "bf16x2") if space == "global" else ())
    forms += [("add", ".noftz", kind) for kind in halves]
    return forms


def register(kind):
    bits = "".join(c for c in kind.replace("x2", "") if c.isdigit())
    if kind.endswith("x2"):
        return "r"
    return scalar.WIDTHS[bits]


def make_case(space, edges, pick, pack, name):
    forms = list_forms(space)
    body = ["ld.param.u64 %rd1, [input];", "ld.param.u64 %rd2, [output];",
            "mov.u32 %r10, %tid.x;", "mad.wide.u32 %rd1, %r10, 24, %rd1;",
            "mad.wide.u32 %rd2, %r10, 16, %rd2;", "mov.u32 %r11, tile;",
            "shl.b32 %r12, %r10, 3;", "add.s32 %r11, %r11, %r12;"]
    for i in (1, 2, 3):
        body += [f"ld.global.b64 %d{i}, [%rd1+{8 * i - 8}];",
                 f"cvt.u32.u64 %r{i}, %d{i};", f"cvt.u16.u64 %h{i}, %d{i};"]
    for number, (op, mode, kind) in enumerate(forms):
        reg = register(kind)
        at = 16 * THREADS * 2 * number
        for i, returns in enumerate((True, False)):
            if not returns and op in ("exch", "cas"):
                continue
            where = at + 16 * THREADS * i
            memory = f"[%rd2+{where}]" if space == "global" else "[%r11]"
            body += [f"st.{space}.b64 {memory}, %d1;"]
            third = f", %{reg}3" if op == "cas" else ""
            if returns:
                body += [f"mov.b{scalar_bits(reg)} %{reg}4, 0;",
                         f"atom.{space}.{op}{mode}.{kind} %{reg}4, {memory}, "
                         f"%{reg}2{third};",
                         scalar.CONVERT[reg].format(4),
                         f"st.global.b64 [%rd2+{where + 8}], %rd9;"]
            else:
                body += [f"red.{space}.{op}{mode}.{kind} {memory}, %{reg}2;"]
            if space == "shared" or kind == "f64":
                body += [f"ld.{space}.b64 %d5, {memory};",
                         scalar.CONVERT["n" if kind == "f64" else "d"]
                         .format(5),
                         f"st.global.b64 [%rd2+{where}], %rd9;"]
    make_rows = scalar.make_inputs(make_random(name), edges, pick, pack)
    rows = [make_rows[i:i + 24] for i in range(0, len(make_rows), 24)]
    data = b"".join(rows[::len(rows) // THREADS])

    def describe(at):
        op, mode, kind = forms[at // (32 * THREADS)]
        what = "red" if at // (16 * THREADS) % 2 else "atom"
        part = "old" if at % 16 >= 8 else "new"
        return f"{what}.{space}.{op}{mode}.{kind} {part}, thread " \
               f"{at // 16 % THREADS}"

    return Case(name, make_kernel(
        [".u64 input", ".u64 output"], "\n".join(body), THREADS,
        declarations=f".shared .align 16 .b8 tile[{8 * THREADS}];"),
        [Array("input", (3 * THREADS,), data, "i64"),
         zeros("output", 8 * THREADS * len(forms))], block=THREADS,
        describe=describe)


def scalar_bits(reg):
    return {"h": 16, "r": 32, "d": 64}[reg]


VECTORS = [("v2.f32", 8), ("v4.f32", 16), ("noftz.v2.f16x2", 8),
           ("noftz.v4.f16x2", 16), ("noftz.v2.bf16x2", 8),
           ("noftz.v4.bf16x2", 16), ("noftz.v8.f16", 16),
           ("noftz.v8.bf16", 16), ("noftz.v2.f16", 4)]


def make_vectors():
    """red.global.add of vectors."""
    body = ["ld.param.u64 %rd1, [input];", "ld.param.u64 %rd2, [output];",
            "mov.u32 %r10, %tid.x;", "mad.wide.u32 %rd1, %r10, 24, %rd1;",
            "mad.wide.u32 %rd2, %r10, 16, %rd2;",
            "ld.global.b64 %d1, [%rd1];", "ld.global.b64 %d2, [%rd1+8];",
            "ld.global.b64 %d3, [%rd1+16];"]
    # The two sources: 16 bytes each that share 8.
    body += ["mov.b64 {%r1, %r2}, %d2;", "mov.b64 {%r3, %r4}, %d3;"]
    for i in range(4):
        body.append(f"mov.b32 {{%h{2 * i + 1}, %h{2 * i + 2}}}, %r{i + 1};")
    for number, (form, size) in enumerate(VECTORS):
        at = 16 * THREADS * number
        count = int(form.split("v")[1][0])
        name = "h" if size // count == 2 else "r"
        registers = ", ".join(f"%{name}{i + 1}" for i in range(count))
        mode, kind = form.rsplit(".", 1)
        parts = form.split(".")
        vector = next(p for p in parts if p.startswith("v"))
        noftz = ".noftz" if "noftz" in parts else ""
        body += [f"st.global.v2.b64 [%rd2+{at}], {{%d1, %d2}};",
                 f"red.global.add{noftz}.{vector}.{kind} [%rd2+{at}], "
                 f"{{{registers}}};"]
    rows = scalar.make_inputs(make_random("vectors"), scalar.SINGLES,
                              scalar.pick_single, True)
    return Case("vectors", make_kernel([".u64 input", ".u64 output"],
                                       "\n".join(body), THREADS),
                [Array("input", (3 * THREADS,), rows[:24 * THREADS], "i64"),
                 zeros("output", 4 * THREADS * len(VECTORS))], block=THREADS,
                describe=lambda at: f"red.{VECTORS[at // (16 * THREADS)][0]}, "
                                    f"thread {at // 16 % THREADS}")


def get_cases():
    cases = []
    for space in ("global", "shared"):
        cases += [make_case(space, scalar.INTEGERS, scalar.pick_integer, False,
                            f"atomics_{space}"),
                  make_case(space, scalar.SINGLES, scalar.pick_single, False,
                            f"atomics_{space}_singles"),
                  make_case(space, scalar.HALVES, scalar.pick_halves, True,
                            f"atomics_{space}_halves")]
    return cases + [make_vectors()]
