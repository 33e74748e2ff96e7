# ===- approximation.py - Functions with .approx *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Functions of which PTX gives an error bound and no bits: on edges and random
numbers, and on one of every 32 fractions of whole binades.
"""

from case import Case, make_kernel, zeros
from scalar import SINGLES, make_case, pick_single

THREADS, STEPS, STRIDE = 2048, 128, 32


def list_forms():
    forms = []
    for ftz in ("", ".ftz"):
        forms += [(f"{op}.approx{ftz}.f32", "rr")
                  for op in ("rcp", "rsqrt", "sqrt", "lg2", "ex2")]
        forms += [(f"div{mode}{ftz}.f32", "rrr")
                  for mode in (".approx", ".full")]
    return forms


def make_fractions():
    """Each thread sums up STEPS results, in a way that tells orders apart, of
    every function in the binades where it has parabolas of its own."""
    binades = [("rcp", 127), ("rsqrt", 127), ("rsqrt", 128), ("sqrt", 127),
               ("sqrt", 128), ("lg2", 126), ("lg2", 127), ("lg2", 131),
               ("ex2", 127), ("ex2", 126)]
    body = ["ld.param.u64 %rd1, [output];", "mov.u32 %r10, %tid.x;",
            "mov.u32 %r11, %ctaid.x;", "mad.lo.u32 %r10, %r11, 256, %r10;",
            "mad.wide.u32 %rd1, %r10, 4, %rd1;",
            f"mul.lo.u32 %r10, %r10, {STEPS * STRIDE};"]
    for number, (op, exponent) in enumerate(binades):
        body += [f"add.u32 %r1, %r10, {(exponent << 23) + number};",
                 "mov.u32 %r2, 0;", "mov.u32 %r3, 0;", f"LOOP{number}:",
                 f"{op}.approx.ftz.f32 %r4, %r1;",
                 "mad.lo.u32 %r2, %r2, 16777619, %r4;",
                 f"add.u32 %r1, %r1, {STRIDE};", "add.u32 %r3, %r3, 1;",
                 f"setp.lt.u32 %p1, %r3, {STEPS};",
                 f"@%p1 bra LOOP{number};",
                 f"st.global.b32 [%rd1+{4 * THREADS * number}], %r2;"]

    def describe(at):
        op, exponent = binades[at // (4 * THREADS)]
        return f"{op} from {exponent << 23:08x}, thread {at // 4 % THREADS}"

    return Case("fractions", make_kernel([".u64 output"], "\n".join(body), 256),
                [zeros("output", THREADS * len(binades))],
                grid=THREADS // 256, block=256, describe=describe)


def get_cases():
    return [make_case("approximations", list_forms(), SINGLES, pick_single),
            make_fractions()]
