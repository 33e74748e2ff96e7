"""Candidates of what one thread does: memory, atomics, conversions, arithmetic."""

import itertools

from templates import registers


def memory():
    for count, name in ((1, "x1"), (2, "x2"), (4, "x4")):
        data = registers("r", count, 1)
        where = "{.shared|.shared::cta}"
        yield (f"ldmatrix.sync.aligned.m8n8.{name}{{.trans}}{where}.b16",
               f"{data}, [%r0]")
        yield (f"stmatrix.sync.aligned.m8n8.{name}{{.trans}}{where}.b16",
               f"[%r0], {data}")
        # As CUTLASS writes them.
        yield (f"ldmatrix.sync.aligned.{name}{{.trans}}.m8n8{where}.b16",
               f"{data}, [%r0]")
        yield (f"stmatrix.sync.aligned.{name}{{.trans}}.m8n8{where}.b16",
               f"[%r0], {data}")
        yield (f"stmatrix.sync.aligned.m16n8.{name}.trans{where}.b8",
               f"[%r0], {data}")
        wide = registers("r", 2 * count, 1)
        yield (f"ldmatrix.sync.aligned.m16n16.{name}.trans{where}.b8"
               "{x16.b6x16_p32|x16.b4x16_p64}", f"{wide}, [%r0]")
        yield (f"ldmatrix.sync.aligned.m8n16.{name}{where}.b8x16"
               "(.b6x16_p32|.b4x16_p64)", f"{data}, [%r0]")
    spaces = "{.global|.shared|.shared::cta|.shared::cluster}"
    for kind, letter in (("b8", "h"), ("u8", "h"), ("s8", "h"), ("b16", "h"),
                         ("u16", "h"), ("s16", "h"), ("b32", "r"), ("u32", "r"),
                         ("s32", "r"), ("f32", "f"), ("b64", "rd"),
                         ("u64", "rd"), ("s64", "rd"), ("f64", "d"),
                         ("b128", "q")):
        for vector, count in (("", 1), (".v2", 2), (".v4", 4), (".v8", 8)):
            if count == 8 and kind not in ("b32", "f32"):
                continue
            data = registers(letter, count) if vector else f"%{letter}0"
            if letter == "q" and vector:
                continue
            yield f"ld{spaces}{vector}.{kind}", f"{data}, [%rd15]"
            yield f"st{spaces}{vector}.{kind}", f"[%rd15], {data}"
            if kind in ("b32", "f32", "b64", "b128"):
                yield f"ld.global.nc{vector}.{kind}", f"{data}, [%rd15]"
    scope = "(.cta|.cluster|.gpu|.sys)"
    yield f"ld(.relaxed|.acquire){scope}{spaces}.b32", "%r0, [%rd15]"
    yield f"st(.relaxed|.release){scope}{spaces}.b32", "[%rd15], %r0"
    yield f"ld.volatile{spaces}.b32", "%r0, [%rd15]"
    yield f"st.volatile{spaces}.b32", "[%rd15], %r0"
    yield ("ld.global{.ca|.cg|.cs|.lu|.cv}{.L2::64B|.L2::128B|.L2::256B}.b32",
           "%r0, [%rd15]")
    yield "st.global{.wb|.cg|.cs|.wt}.b32", "[%rd15], %r0"
    yield ("ld.global{.L1::evict_normal|.L1::evict_unchanged|.L1::evict_first|"
           ".L1::evict_last|.L1::no_allocate}.b32", "%r0, [%rd15]")
    for hint in (".L2::cache_hint",):
        yield f"ld.global{hint}.b32", "%r0, [%rd15], %rd3"
        yield f"st.global{hint}.b32", "[%rd15], %r0, %rd3"
    yield "st.bulk{.weak}{.shared::cta}", "[%rd15], 64, 0"
    yield "prefetch{.global|.local}(.L1|.L2)", "[%rd15]"
    yield "prefetchu.L1", "[%rd15]"
    yield "cvta{.to}(.global|.shared|.shared::cta|.shared::cluster|.const|" \
        ".local|.param).u64", "%rd0, %rd1"
    yield "isspacep(.global|.shared|.shared::cta|.shared::cluster|.local|" \
        ".param)", "%p0, %rd0"
    yield "createpolicy.fractional.L2(::evict_last|::evict_first).b64", \
        "%rd0, 0f3F800000"


def atomics():
    sem = "{.relaxed|.acquire|.release|.acq_rel}"
    scope = "{.cta|.cluster|.gpu|.sys}"
    spaces = "{.global|.shared|.shared::cta|.shared::cluster}"
    kinds = [("(.and|.or|.xor).b32", "r"), ("(.and|.or|.xor).b64", "rd"),
             ("(.add|.min|.max)(.u32|.s32)", "r"), ("(.inc|.dec).u32", "r"),
             ("(.add|.min|.max)(.u64|.s64)", "rd"), (".add.f32", "f"),
             (".add.f64", "d"), (".add.noftz(.f16|.bf16)", "h"),
             (".add.noftz(.f16x2|.bf16x2)", "r")]
    for template, letter in kinds:
        for how in (f"{sem}{scope}", ):
            if template not in (".add.f32", "(.and|.or|.xor).b32"):
                how = "{.relaxed}{.gpu}"
            yield (f"atom{how}{spaces}{template}",
                   f"%{letter}0, [%rd15], %{letter}1")
            yield f"red{how}{spaces}{template}", f"[%rd15], %{letter}1"
    for kind, letter in (("b16", "h"), ("b32", "r"), ("b64", "rd"),
                         ("b128", "q")):
        yield (f"atom{sem}{scope}{spaces}.cas.{kind}",
               f"%{letter}0, [%rd15], %{letter}1, %{letter}2")
        yield (f"atom{spaces}.exch.{kind}", f"%{letter}0, [%rd15], %{letter}1")
    for vector, count, kind, letter in (
            (".v2", 2, "f32", "f"), (".v4", 4, "f32", "f"),
            (".v2", 2, "noftz", "r"), (".v4", 4, "noftz", "r"),
            (".v2", 2, "half", "h"), (".v4", 4, "half", "h"),
            (".v8", 8, "half", "h")):
        tail = {"f32": f".add{vector}.f32",
                "noftz": f".add.noftz{vector}(.f16x2|.bf16x2)",
                "half": f"(.add|.min|.max).noftz{vector}(.f16|.bf16)"}[kind]
        yield (f"red{{.relaxed}}{{.gpu}}.global{tail}",
               f"[%rd15], {registers(letter, count)}")
        yield (f"atom{{.relaxed}}{{.gpu}}.global{tail}",
               f"{registers(letter, count, 8)}, [%rd15], "
               f"{registers(letter, count)}")


def conversions():
    for to, source in (("bf16x2", 2), ("f16x2", 2), ("bf16", 1), ("f16", 1)):
        result = "%r0" if source == 2 else "%h0"
        operands = f"{result}, %f0, %f1" if source == 2 else f"{result}, %f0"
        yield f"cvt(.rn|.rz){{.relu}}{{.satfinite}}.{to}.f32", operands
        yield f"cvt.rs{{.relu}}{{.satfinite}}.{to}.f32", operands + ", %r1"
    for kind in ("e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "e2m1x2"):
        narrow = "%b0" if kind == "e2m1x2" else "%h0"
        yield (f"cvt.rn.satfinite{{.relu}}.{kind}.f32",
               f"{narrow}, %f0, %f1")
        yield f"cvt.rn.satfinite{{.relu}}.{kind}.f16x2", f"{narrow}, %r0"
        yield f"cvt.rn{{.relu}}.f16x2.{kind}", f"%r0, {narrow}"
    for kind, result in (("e4m3x4", "%r0"), ("e5m2x4", "%r0"),
                         ("e2m3x4", "%r0"), ("e3m2x4", "%r0"),
                         ("e2m1x4", "%h0")):
        yield (f"cvt.rs{{.relu}}.satfinite.{kind}.f32",
               result + ", {%f0, %f1, %f2, %f3}, %r1")
    yield "cvt(.rz|.rp){.satfinite}.ue8m0x2.f32", "%h0, %f0, %f1"
    yield "cvt(.rz|.rp){.satfinite}.ue8m0x2.bf16x2", "%h0, %r0"
    yield "cvt.rn.bf16x2.ue8m0x2", "%r0, %h0"
    yield "cvt(.rna|.rn|.rz){.relu}{.satfinite}.tf32.f32", "%r0, %f0"
    sizes = {"16": "h", "32": "r", "64": "rd"}
    for a, b in itertools.product(sizes, repeat=2):
        yield (f"cvt{{.sat}}(.u{a}|.s{a})(.u{b}|.s{b})",
               f"%{sizes[a]}0, %{sizes[b]}1")
    for bits, letter in sizes.items():
        for kind, real in (("f32", "f"), ("f64", "d"), ("f16", "h"),
                           ("bf16", "h")):
            yield (f"cvt(.rni|.rzi|.rmi|.rpi){{.ftz}}{{.sat}}"
                   f"(.u{bits}|.s{bits}).{kind}", f"%{letter}0, %{real}1")
            yield (f"cvt(.rn|.rz|.rm|.rp){{.ftz}}{{.sat}}.{kind}"
                   f"(.u{bits}|.s{bits})", f"%{real}0, %{letter}1")
    for a, b in itertools.product(("f32", "f64", "f16", "bf16"), repeat=2):
        letters = {"f32": "f", "f64": "d", "f16": "h", "bf16": "h"}
        yield (f"cvt{{.rn|.rz|.rm|.rp|.rni|.rzi|.rmi|.rpi}}{{.ftz}}{{.sat}}"
               f".{a}.{b}", f"%{letters[a]}0, %{letters[b]}1")


def arithmetic():
    rounding = "{.rn|.rz|.rm|.rp}"
    for kind, letter in (("f32", "f"), ("f64", "d")):
        for op in ("add", "sub", "mul"):
            yield (f"{op}{rounding}{{.ftz}}{{.sat}}.{kind}",
                   ", ".join(f"%{letter}{i}" for i in range(3)))
        yield (f"fma(.rn|.rz|.rm|.rp){{.ftz}}{{.sat}}.{kind}",
               ", ".join(f"%{letter}{i}" for i in range(4)))
        yield (f"div(.rn|.rz|.rm|.rp|.approx|.full){{.ftz}}.{kind}",
               f"%{letter}0, %{letter}1, %{letter}2")
        for op in ("rcp", "sqrt"):
            yield (f"{op}(.rn|.rz|.rm|.rp|.approx){{.ftz}}.{kind}",
                   f"%{letter}0, %{letter}1")
        for op in ("abs", "neg"):
            yield f"{op}{{.ftz}}.{kind}", f"%{letter}0, %{letter}1"
        yield f"copysign.{kind}", f"%{letter}0, %{letter}1, %{letter}2"
        yield ("testp(.finite|.infinite|.number|.notanumber|.normal|"
               f".subnormal).{kind}", f"%p0, %{letter}1")
    for op in ("add", "sub", "mul"):
        yield f"{op}{rounding}{{.ftz}}.f32x2", "%rd0, %rd1, %rd2"
        yield f"{op}{{.rn|.rz}}{{.sat}}.f32.bf16", "%f0, %h1, %f2"
        yield f"{op}{{.rn|.rz}}{{.sat}}.f32.f16", "%f0, %h1, %f2"
    yield f"fma{rounding}{{.ftz}}.f32x2", "%rd0, %rd1, %rd2, %rd3"
    yield "fma.rn{.sat}.f32(.bf16|.f16)", "%f0, %h1, %h2, %f3"
    for op in ("min", "max"):
        for kind, letter in (("f32", "f"), ("f64", "d"), ("f16", "h"),
                             ("bf16", "h"), ("f16x2", "r"), ("bf16x2", "r")):
            yield (f"{op}{{.ftz}}{{.NaN}}{{.xorsign.abs}}.{kind}",
                   f"%{letter}0, %{letter}1, %{letter}2")
        yield f"{op}{{.ftz}}{{.NaN}}{{.abs}}.f32", "%f0, %f1, %f2, %f3"
        yield f"{op}{{.relu}}(.s32|.u32|.s16x2|.u16x2)", "%r0, %r1, %r2"
        yield f"{op}(.s16|.u16)", "%h0, %h1, %h2"
        yield f"{op}(.s64|.u64)", "%rd0, %rd1, %rd2"
    for kind, letter in (("f16", "h"), ("bf16", "h"), ("f16x2", "r"),
                         ("bf16x2", "r")):
        three = f"%{letter}0, %{letter}1, %{letter}2"
        for op in ("add", "sub", "mul"):
            yield f"{op}{{.rn}}{{.ftz}}{{.sat}}.{kind}", three
        yield (f"fma.rn{{.ftz}}{{.sat|.relu|.oob|.oob.relu}}.{kind}",
               three + f", %{letter}3")
        yield f"(abs|neg){{.ftz}}.{kind}", f"%{letter}0, %{letter}1"
        yield f"(ex2|tanh).approx{{.ftz}}.{kind}", f"%{letter}0, %{letter}1"
    yield "(ex2|lg2|sin|cos|rsqrt|tanh).approx{.ftz}.f32", "%f0, %f1"
    yield "(rsqrt|rcp).approx.ftz.f64", "%d0, %d1"
    for bits, letter in (("16", "h"), ("32", "r"), ("64", "rd")):
        two, three = (", ".join(f"%{letter}{i}" for i in range(n))
                      for n in (2, 3))
        signed = f"(.u{bits}|.s{bits})"
        yield f"(add|sub|div|rem|min|max){signed}", three
        yield f"mul(.lo|.hi){signed}", three
        yield f"mad(.lo|.hi){signed}", three + f", %{letter}3"
        yield f"(and|or|xor).b{bits}", three
        yield f"(not|cnot).b{bits}", two
        yield f"(abs|neg).s{bits}", two
        yield f"(shl.b{bits}|shr.b{bits}|shr.u{bits}|shr.s{bits})", \
            two + ", %r9"
        yield f"selp(.b{bits}|.u{bits}|.s{bits})", three + ", %p0"
        yield (f"setp(.eq|.ne|.lt|.le|.gt|.ge){signed}",
               f"%p0, %{letter}1, %{letter}2")
        yield f"set(.eq|.lt).u32{signed}", f"%r9, %{letter}1, %{letter}2"
        yield f"mov(.b{bits}|.u{bits}|.s{bits})", two
    yield "mul.wide(.u16|.s16)", "%r0, %h1, %h2"
    yield "mul.wide(.u32|.s32)", "%rd0, %r1, %r2"
    yield "mad.wide(.u16|.s16)", "%r0, %h1, %h2, %r3"
    yield "mad.wide(.u32|.s32)", "%rd0, %r1, %r2, %rd3"
    yield "(mul24|mad24)(.lo|.hi)(.u32|.s32)", "%r0, %r1, %r2"
    yield "sad(.u32|.s32)", "%r0, %r1, %r2, %r3"
    yield "(popc|clz|brev).b32", "%r0, %r1"
    yield "(popc|clz).b64", "%r0, %rd1"
    yield "bfind{.shiftamt}(.u32|.s32)", "%r0, %r1"
    yield "fns.b32", "%r0, %r1, %r2, %r3"
    yield "bfe(.u32|.s32)", "%r0, %r1, %r2, %r3"
    yield "bfi.b32", "%r0, %r1, %r2, %r3, %r4"
    yield "bmsk(.clamp|.wrap).b32", "%r0, %r1, %r2"
    yield "szext(.clamp|.wrap)(.u32|.s32)", "%r0, %r1, %r2"
    yield "prmt.b32{.f4e|.b4e|.rc8|.ecl|.ecr|.rc16}", "%r0, %r1, %r2, %r3"
    yield "shf(.l|.r)(.clamp|.wrap).b32", "%r0, %r1, %r2, %r3"
    yield "lop3.b32", "%r0, %r1, %r2, %r3, 0x96"
    yield "dp4a(.u32|.s32)(.u32|.s32)", "%r0, %r1, %r2, %r3"
    yield "(add|sub){.cc}(.u32|.s32|.u64|.s64)", "%r0, %r1, %r2"
    yield "(addc|subc){.cc}(.u32|.s32)", "%r0, %r1, %r2"
    yield "(add|sub|min|max)(.u16x2|.s16x2)", "%r0, %r1, %r2"
    for kind, letter in (("f32", "f"), ("f64", "d"), ("f16", "h"),
                         ("bf16", "h")):
        yield ("setp(.eq|.ne|.lt|.le|.gt|.ge|.equ|.neu|.ltu|.leu|.gtu|.geu|"
               f".num|.nan){{.ftz}}.{kind}", f"%p0, %{letter}1, %{letter}2")
        yield f"selp.{kind}", f"%{letter}0, %{letter}1, %{letter}2, %p0"
        yield f"slct.{kind}.s32", f"%{letter}0, %{letter}1, %{letter}2, %r9"
    yield "setp.lt(.and|.or|.xor).s32", "%p0|%p1, %r1, %r2, !%p2"
    yield "setp.lt(.f16x2|.bf16x2)", "%p0|%p1, %r1, %r2"
    yield "(and|or|xor).pred", "%p0, %p1, %p2"
    yield "(not|mov).pred", "%p0, %p1"
    yield "mov.b64", "%rd0, {%r1, %r2}"
    yield "mov.b32", "{%h0, %h1}, %r1"
    yield "mov.b128", "{%rd0, %rd1}, %q0"
