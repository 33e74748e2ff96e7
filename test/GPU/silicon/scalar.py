# ===- scalar.py - Instructions of single lanes *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Arithmetic, logic, comparisons and conversions: every form on edges and on
random numbers.

A form is the instruction and its operands' registers, the destination's first:
h, r and d have 16, 32 and 64 bits, p is a predicate. `#` is a number.
"""

import struct

from case import Array, Case, make_kernel, make_random, zeros

THREADS = 2048

INTEGERS = [0, 1, 2, 3, 7, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255, 0x7FFF,
            0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
            0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF,
            0x0123456789ABCDEF, 0xFEDCBA9876543210, 0xFFFFFFFF00000000,
            0xFFFFFFFFFFFF8000]
SINGLES = [0, 0x80000000, 1, 0x80000001, 0x7FFFFF, 0x800000, 0x80800000,
           0x3F800000, 0xBF800000, 0x3F800001, 0x3F7FFFFF, 0x3F000000,
           0x3FC00000, 0x40490FDB, 0x477FE000, 0x477FF000, 0x4F000000,
           0xCF000000, 0x5F800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000,
           0xFF800000, 0x7FC00000, 0x7F800001, 0xFFC12345, 0x34000000,
           0x43E00000, 0x43E80000, 0x38800000, 0x33800000, 0xC0600000]
DOUBLES = [0, 1 << 63, 1, 0xFFFFFFFFFFFFF, 0x10000000000000,
           0x3FF0000000000000, 0xBFF0000000000000, 0x3FF0000000000001,
           0x3FE0000000000000, 0x3FF8000000000000, 0x41DFFFFFFFC00000,
           0xC1E0000000000000, 0x43E0000000000000, 0x7FEFFFFFFFFFFFFF,
           0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000,
           0x7FF0000000000001, 0x36A0000000000000, 0x3810000000000000,
           0x47EFFFFFE0000000, 0x47F0000000000000, 0x3FF0000010000000]
HALVES = [0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x3C00, 0xBC00, 0x3C01, 0x3BFF,
          0x3800, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFE55, 0x4248,
          0x5F00, 0x5F40, 0x0080, 0x7F, 0x3F80, 0xBF80, 0x3F81, 0x7F7F, 0xFF7F,
          0x7F80, 0xFF80, 0x7FC0, 0x4C00]


def pick_integer(rng):
    bits = rng.choice((4, 8, 16, 32, 64))
    value = rng.getrandbits(bits)
    return value if rng.random() < 0.5 else -value & 0xFFFFFFFFFFFFFFFF


def pick_single(rng):
    how = rng.random()
    if how < 0.2:
        low = rng.getrandbits(32)
    elif how < 0.6:
        low = rng.getrandbits(1) << 31 | rng.randrange(110, 150) << 23 | \
            rng.getrandbits(23)
    else:
        low = struct.unpack("<I", struct.pack("<f", rng.uniform(-9, 9)))[0]
    return rng.getrandbits(32) << 32 | low


def pick_double(rng):
    if rng.random() < 0.3:
        return rng.getrandbits(64)
    exponent = rng.randrange(990, 1090)
    return rng.getrandbits(1) << 63 | exponent << 52 | rng.getrandbits(52)


def pick_halves(rng):
    return rng.getrandbits(64)


def make_inputs(rng, edges, pick, pack):
    """Three numbers for each thread: pairs of edges first, then random ones."""
    rows = []
    for thread in range(THREADS):
        i, j = divmod(thread, len(edges))
        if i < len(edges):
            row = [edges[i], edges[j], rng.choice(edges)]
            if pack:
                row = [x << 48 | y << 32 | x << 16 | y
                       for x, y in zip(row, row[1:] + row[:1])]
        else:
            row = [pick(rng) for _ in range(3)]
        rows += row
    return b"".join(struct.pack("<Q", v & 0xFFFFFFFFFFFFFFFF) for v in rows)


CONVERT = {"h": "cvt.u64.u16 %rd9, %h{0};", "r": "cvt.u64.u32 %rd9, %r{0};",
           "d": "mov.b64 %rd9, %d{0};",
           # Which NaN of 64 bits comes out is not defined.
           "n": "testp.notanumber.f64 %p9, %d{0};\n"
                "selp.b64 %rd9, 0x7ff8000000000000, %d{0}, %p9;",
           "p": "selp.b64 %rd9, 1, 0, %p{0};"}


def make_case(name, forms, edges, pick, pack=False):
    """Registers 1 to 3 hold the inputs, 4 and 5 results."""
    body = ["ld.param.u64 %rd1, [input];", "ld.param.u64 %rd2, [output];",
            "mov.u32 %r10, %tid.x;", "mov.u32 %r11, %ctaid.x;",
            "mad.lo.u32 %r10, %r11, 256, %r10;",
            "mad.wide.u32 %rd1, %r10, 24, %rd1;",
            "mad.wide.u32 %rd2, %r10, 8, %rd2;"]
    for i in (1, 2, 3):
        body += [f"ld.global.b64 %d{i}, [%rd1+{8 * i - 8}];",
                 f"cvt.u32.u64 %r{i}, %d{i};", f"cvt.u16.u64 %h{i}, %d{i};",
                 f"setp.lt.s64 %p{i}, %d{i}, 0;"]
    for number, (instruction, registers, *immediates) in enumerate(forms):
        operands, source = [], 0
        if instruction.startswith("bfe"):
            # Positions and lengths from 0 to 255 are defined.
            body += [f"and.b32 %r{i}, %r{i}, 255;" for i in (2, 3)]
        for position, kind in enumerate(registers):
            if kind == "#":
                operands.append(str(immediates[0]))
            elif position == 0:
                operands.append(f"%{kind}4")
            else:
                source += 1
                operands.append(f"%{kind}{source}")
        is_double = registers[0] == "d" and ".f64" in instruction
        body += [f"{instruction} {', '.join(operands)};",
                 CONVERT["n" if is_double else registers[0]].format(4),
                 f"st.global.b64 [%rd2+{8 * THREADS * number}], %rd9;"]
    arrays = [Array("input", (3 * THREADS,),
                    make_inputs(make_random(name), edges, pick, pack), "i64"),
              zeros("output", 2 * THREADS * len(forms))]

    def describe(at):
        return f"{forms[at // (8 * THREADS)][0]}, thread " \
               f"{at // 8 % THREADS}"

    return Case(name, make_kernel([".u64 input", ".u64 output"],
                                  "\n".join(body), 256),
                arrays, grid=THREADS // 256, block=256, describe=describe)


#===----------------------------------------------------------------------===#
# Forms
#===----------------------------------------------------------------------===#

WIDTHS = {"16": "h", "32": "r", "64": "d"}


def list_integers():
    forms = []
    for bits, reg in WIDTHS.items():
        for sign in "us":
            kind = f".{sign}{bits}"
            forms += [(op + kind, reg * 3) for op in
                      ("add", "sub", "mul.lo", "mul.hi", "min", "max")]
            forms += [("mad.lo" + kind, reg * 4)]
            forms += [(f"shr{kind}", reg * 2 + "r")]
            if bits != "64":
                wide = {"16": "r", "32": "d"}[bits]
                forms += [("mul.wide" + kind, wide + reg * 2)]
            for compare in ("eq", "ne", "lt", "le", "gt", "ge"):
                forms.append((f"setp.{compare}{kind}", "p" + reg * 2))
            if sign == "s":
                forms += [(op + kind, reg * 2) for op in ("abs", "neg")]
        untyped = f".b{bits}"
        forms += [(op + untyped, reg * 3) for op in ("and", "or", "xor")]
        forms += [("not" + untyped, reg * 2), ("shl" + untyped, reg * 2 + "r"),
                  ("shr" + untyped, reg * 2 + "r"),
                  ("selp" + untyped, reg * 3 + "p")]
    forms += [("mad.hi.s32", "rrrr"), ("mad.hi.u32", "rrrr"),
              ("mad.wide.u32", "drrd"), ("mad.wide.s32", "drrd"),
              ("mad.wide.u16", "rhhr"), ("mad.wide.s16", "rhhr"),
              ("min.relu.s32", "rrr"), ("max.relu.s32", "rrr"),
              ("prmt.b32", "rrrr"), ("popc.b32", "rr"), ("popc.b64", "rd"),
              ("clz.b32", "rr"), ("clz.b64", "rd"), ("brev.b32", "rr"),
              ("brev.b64", "dd"), ("bfi.b32", "r#rrr", 0x1234567),
              ("setp.lo.u32", "prr"), ("setp.hs.u64", "pdd")]
    forms += [(f"bfind.{t}", "r" + r) for t, r in
              (("u32", "r"), ("s32", "r"), ("u64", "d"), ("s64", "d"))]
    forms += [(f"lop3.b32", "rrrr#", table) for table in
              (0x80, 0xFE, 0x96, 0xCA, 0xE8, 0x1D)]
    forms += [(f"shf.{side}.{mode}.b32", "rrrr") for side in "lr"
              for mode in ("clamp", "wrap")]
    forms += [(f"setp.{op}.{how}.{t}", "p" + r * 2 + "p")
              for op, how, t, r in (("lt", "and", "s32", "r"),
                                    ("ge", "or", "u64", "d"),
                                    ("eq", "xor", "b16", "h"))]
    forms += [(f"{op}.pred", "ppp") for op in ("and", "or", "xor")]
    forms += [("not.pred", "pp")]
    # Last, as it changes the registers.
    forms += [(f"bfe.{t}", r + r + "rr") for t, r in
              (("u32", "r"), ("s32", "r"), ("u64", "d"), ("s64", "d"))]
    return forms


def list_divisions():
    """Of which the result is only defined for divisors other than zero."""
    forms = []
    for bits, reg in WIDTHS.items():
        for sign in "us":
            for op in ("div", "rem"):
                forms.append((f"{op}.{sign}{bits}", reg * 3))
    return forms


def list_integer_conversions():
    forms = []
    for to, to_reg in WIDTHS.items():
        for source, from_reg in WIDTHS.items():
            for a in "us":
                for b in "us":
                    if to != source or a != b:
                        forms.append((f"cvt.{a}{to}.{b}{source}",
                                      to_reg + from_reg))
    for a in "us":
        for b in "us":
            forms.append((f"cvt.{a}32.{b}8", "rr"))
        for rounding in ("rn", "rz", "rm", "rp"):
            for bits, reg in WIDTHS.items():
                forms.append((f"cvt.{rounding}.f32.{a}{bits}", "r" + reg))
        for bits, reg in WIDTHS.items():
            forms.append((f"cvt.rn.f64.{a}{bits}", "d" + reg))
            forms.append((f"cvt.rn.f16.{a}{bits}", "h" + reg))
    return forms


def list_singles():
    forms = []
    for ftz in ("", ".ftz"):
        for rounding in (".rn", ".rz", ".rm", ".rp"):
            forms += [(f"{op}{rounding}{ftz}.f32", "rrr")
                      for op in ("add", "sub", "mul", "div")]
            forms += [(f"fma{rounding}{ftz}.f32", "rrrr"),
                      (f"sqrt{rounding}{ftz}.f32", "rr"),
                      (f"rcp{rounding}{ftz}.f32", "rr")]
        forms += [(f"{op}{ftz}.sat.f32", "rrr") for op in ("add", "mul")]
        forms += [(f"fma.rn{ftz}.sat.f32", "rrrr"),
                  (f"ex2.approx{ftz}.f32", "rr")]
        forms += [(f"{op}{ftz}.f32", "rr") for op in ("abs", "neg")]
        for op in ("min", "max"):
            forms += [(f"{op}{ftz}{mode}.f32", "rrr")
                      for mode in ("", ".NaN", ".xorsign.abs",
                                   ".NaN.xorsign.abs")]
        for compare in ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu",
                        "ltu", "leu", "gtu", "geu", "num", "nan"):
            forms.append((f"setp.{compare}{ftz}.f32", "prr"))
        for kind, reg in (("s16", "h"), ("u16", "h"), ("s32", "r"),
                          ("u32", "r"), ("s64", "d"), ("u64", "d")):
            for rounding in ("rni", "rzi", "rmi", "rpi"):
                forms.append((f"cvt.{rounding}{ftz}.{kind}.f32", reg + "r"))
        for rounding in ("rni", "rzi", "rmi", "rpi"):
            forms.append((f"cvt.{rounding}{ftz}.f32.f32", "rr"))
        forms += [(f"cvt{ftz}.f64.f32", "dr"),
                  (f"cvt{ftz}.sat.f32.f32", "rr")]
    forms += [("setp.lt.and.f32", "prrp"), ("selp.f32", "rrrp"),
              ("copysign.f32", "rrr")]
    forms += [(f"testp.{what}.f32", "pr") for what in
              ("finite", "infinite", "number", "notanumber", "normal",
               "subnormal")]
    return forms


def list_narrowings():
    forms = []
    for kind in ("bf16", "f16"):
        for rounding in (".rn", ".rz"):
            for mode in ("", ".relu", ".satfinite", ".relu.satfinite"):
                forms.append((f"cvt{rounding}{mode}.{kind}x2.f32", "rrr"))
                forms.append((f"cvt{rounding}{mode}.{kind}.f32", "hr"))
        forms.append((f"cvt.f32.{kind}", "rh"))
    for kind in ("e4m3x2", "e5m2x2"):
        for relu in ("", ".relu"):
            forms += [(f"cvt.rn.satfinite{relu}.{kind}.f32", "hrr"),
                      (f"cvt.rn.satfinite{relu}.{kind}.f16x2", "hr"),
                      (f"cvt.rn{relu}.f16x2.{kind}", "rh")]
    forms += [("cvt.rna.tf32.f32", "rr"), ("cvt.rn.tf32.f32", "rr"),
              ("cvt.rz.tf32.f32", "rr"), ("cvt.rn.relu.tf32.f32", "rr"),
              ("cvt.rz.relu.tf32.f32", "rr"),
              ("cvt.rna.satfinite.tf32.f32", "rr")]
    return forms


def list_halves():
    forms = []
    for kind, reg in (("f16", "h"), ("f16x2", "r"), ("bf16", "h"),
                      ("bf16x2", "r")):
        forms += [(f"{op}{rn}.{kind}", reg * 3) for op in ("add", "sub", "mul")
                  for rn in ("", ".rn")]
        forms += [(f"fma.rn{relu}.{kind}", reg * 4) for relu in ("", ".relu")]
        forms += [(f"{op}{mode}.{kind}", reg * 3) for op in ("min", "max")
                  for mode in ("", ".NaN", ".xorsign.abs")]
        forms += [(f"{op}.{kind}", reg * 2) for op in ("neg", "abs")]
        ftz = ".ftz" if kind.startswith("b") else ""
        forms.append((f"ex2.approx{ftz}.{kind}", reg * 2))
        if kind.startswith("f"):
            forms += [(f"{op}.sat.{kind}", reg * 3)
                      for op in ("add", "sub", "mul")]
            forms += [(f"fma.rn.sat.{kind}", reg * 4),
                      (f"add.ftz.{kind}", reg * 3),
                      (f"mul.ftz.{kind}", reg * 3),
                      (f"fma.rn.ftz.{kind}", reg * 4)]
    for compare in ("eq", "ne", "lt", "ge", "ltu", "nan"):
        forms += [(f"setp.{compare}.f16", "phh"),
                  (f"setp.{compare}.bf16", "phh")]
    for kind, reg in (("s16", "h"), ("u32", "r"), ("s32", "r"), ("s64", "d")):
        forms += [(f"cvt.rzi.{kind}.f16", reg + "h"),
                  (f"cvt.rni.{kind}.bf16", reg + "h")]
    return forms


def list_doubles():
    forms = []
    for rounding in (".rn", ".rz", ".rm", ".rp"):
        forms += [(f"{op}{rounding}.f64", "ddd")
                  for op in ("add", "sub", "mul", "div")]
        forms += [(f"fma{rounding}.f64", "dddd"),
                  (f"sqrt{rounding}.f64", "dd"), (f"rcp{rounding}.f64", "dd"),
                  (f"cvt{rounding}.f32.f64", "rd")]
    forms += [(f"{op}.f64", "ddd") for op in ("min", "max")]
    forms += [(f"{op}.f64", "dd") for op in ("neg", "abs")]
    for compare in ("eq", "ne", "lt", "ge", "ltu", "nan"):
        forms.append((f"setp.{compare}.f64", "pdd"))
    for kind, reg in (("s32", "r"), ("u32", "r"), ("s64", "d"), ("u64", "d")):
        for rounding in ("rni", "rzi", "rmi", "rpi"):
            forms.append((f"cvt.{rounding}.{kind}.f64", reg + "d"))
    for rounding in ("rni", "rzi", "rmi", "rpi"):
        forms.append((f"cvt.{rounding}.f64.f64", "dd"))
    forms += [("cvt.rn.f16.f64", "hd")]
    return forms


def get_cases():
    nonzero = [v for v in INTEGERS if v & 0xFFFF]
    return [make_case("integers", list_integers(), INTEGERS, pick_integer),
            make_case("divisions", list_divisions(), nonzero,
                      lambda rng: pick_integer(rng) | 1),
            make_case("integer_conversions", list_integer_conversions(),
                      INTEGERS, pick_integer),
            make_case("singles", list_singles(), SINGLES, pick_single),
            make_case("narrowings", list_narrowings(), SINGLES, pick_single),
            make_case("narrow_halves", list_narrowings(), HALVES, pick_halves,
                      True),
            make_case("halves", list_halves(), HALVES, pick_halves, True),
            make_case("doubles", list_doubles(), DOUBLES, pick_double)]
