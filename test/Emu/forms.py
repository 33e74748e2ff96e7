"""Which forms of instructions ptxas accepts, and which of them jfa-emu executes.

    forms.py generate FILE --ptxas ptxas     asks ptxas about all candidates and
                                             writes down those that it accepts
    forms.py check FILE --emulator jfa-emu   decodes each of them and counts

The file that the test uses, Inputs/forms.txt.gz, is ptxas 13.0.88's answer.

A candidate is an opcode with modifiers, `(a|b)` for one of several and `{a|b}`
for at most one, and its operands. Those of a family are what the sections of the
PTX ISA about it name, and more: what does not exist ptxas refuses.
"""

import argparse
import collections
import concurrent.futures
import gzip
import itertools
import os
import re
import subprocess
import sys
import tempfile

TARGETS = {"sm_90a": "8.6", "sm_100a": "8.7"}
REGISTERS = """  .reg .pred %p<8>;
  .reg .b16 %h<16>;
  .reg .b32 %r<300>;
  .reg .f32 %f<300>;
  .reg .b64 %rd<16>;
  .reg .f64 %d<8>;
  .reg .b128 %q<4>;
  .reg .b8 %b<4>;
  .shared .align 16 .b8 shared[1024];
"""


def registers(letter, count, first=0):
    return "{" + ", ".join(f"%{letter}{first + i}" for i in range(count)) + "}"


def expand(template):
    """All texts of a template."""
    parts = []
    for part in re.findall(r"\([^)]*\)|\{[^}]*\}|[^({]+", template):
        if part[0] == "(":
            parts.append(part[1:-1].split("|"))
        elif part[0] == "{":
            parts.append([""] + part[1:-1].split("|"))
        else:
            parts.append([part])
    return ["".join(choice) for choice in itertools.product(*parts)]


#===----------------------------------------------------------------------===#
# Candidates, by family
#===----------------------------------------------------------------------===#

SCOPE = "{.cta|.cluster}"
SPACE = "{.shared|.shared::cta|.shared::cluster}"


def mbarrier():
    space = "{.shared|.shared::cta}"
    yield f"mbarrier.init{space}.b64", "[%rd0], %r1"
    yield f"mbarrier.inval{space}.b64", "[%rd0]"
    for op in ("arrive", "arrive_drop"):
        sem = "{.release|.relaxed}"
        for result, where in (("%rd1", space), ("_", SPACE)):
            yield f"mbarrier.{op}{sem}{SCOPE}{where}.b64", f"{result}, [%rd0]"
            yield (f"mbarrier.{op}{sem}{SCOPE}{where}.b64",
                   f"{result}, [%rd0], %r1")
            yield (f"mbarrier.{op}.expect_tx{sem}{SCOPE}{where}.b64",
                   f"{result}, [%rd0], %r1")
        yield (f"mbarrier.{op}.noComplete{sem}{SCOPE}{space}.b64",
               "%rd1, [%rd0], %r1")
    for op in ("expect_tx", "complete_tx"):
        yield f"mbarrier.{op}{{.relaxed}}{SCOPE}{SPACE}.b64", "[%rd0], %r1"
    for op, hint in (("test_wait", ""), ("try_wait", ", %r2")):
        for parity, state in (("", "%rd1"), (".parity", "%r1")):
            for tail in {"", hint}:
                yield (f"mbarrier.{op}{parity}{{.acquire|.relaxed}}{SCOPE}"
                       f"{space}.b64", f"%p0, [%rd0], {state}{tail}")
    yield "mbarrier.pending_count.b64", "%r0, %rd0"
    yield f"cp.async.mbarrier.arrive{{.noinc}}{space}.b64", "[%rd0]"


def barriers():
    for op in ("bar{.cta}", "barrier{.cta}"):
        aligned = "{.aligned}" if "barrier" in op else ""
        for operands in ("%r0", "3", "%r0, %r1", "1, 128"):
            yield f"{op}.sync{aligned}", operands
            yield f"{op}.arrive{aligned}", operands
        for operands in ("%r0, ", "%r0, %r1, "):
            yield f"{op}.red.popc{aligned}.u32", f"%r2, {operands}%p1"
            yield f"{op}.red(.and|.or){aligned}.pred", f"%p2, {operands}%p1"
    yield "bar.warp.sync", "%r0"
    yield "barrier.cluster.arrive{.release|.relaxed}{.aligned}", ""
    yield "barrier.cluster.wait{.acquire}{.aligned}", ""
    yield "setmaxnreg(.inc|.dec).sync.aligned.u32", "64"
    yield "griddepcontrol(.launch_dependents|.wait)", ""
    yield "elect.sync", "%r0|%p0, %r1"
    yield "elect.sync", "_|%p0, %r1"
    yield "activemask.b32", "%r0"
    for operands in ("%r0, %r1, %r2, %r3, %r4", "%r0|%p0, %r1, 1, 31, -1"):
        yield "shfl.sync(.up|.down|.bfly|.idx).b32", operands
    yield "vote.sync(.all|.any|.uni).pred", "%p0, %p1, %r0"
    yield "vote.sync.ballot.b32", "%r0, %p1, %r1"
    yield "match.sync(.any|.all)(.b32)", "%r0, %r1, %r2"
    yield "match.sync(.any|.all)(.b64)", "%r0, %rd1, %r2"
    yield "match.sync.all(.b32)", "%r0|%p0, %r1, %r2"
    yield "redux.sync(.add|.min|.max)(.u32|.s32)", "%r0, %r1, %r2"
    yield "redux.sync(.and|.or|.xor).b32", "%r0, %r1, %r2"
    yield "redux.sync(.min|.max){.abs}{.NaN}.f32", "%f0, %f1, %r2"
    yield "nanosleep.u32", "%r0"


def fences():
    scope = "(.cta|.cluster|.gpu|.sys)"
    yield f"fence{{.sc|.acq_rel|.acquire|.release}}{scope}", ""
    yield "membar(.cta|.gl|.sys)", ""
    yield ("fence.proxy.async{.global|.shared|.shared::cta|.shared::cluster}",
           "")
    yield "fence.proxy.alias", ""
    yield "fence.proxy.generic", ""
    yield "fence.proxy.tensormap", ""
    yield "fence.mbarrier_init.release.cluster", ""
    yield f"fence.proxy.tensormap::generic.release{scope}", ""
    yield f"fence.proxy.tensormap::generic.acquire{scope}", "[%rd0], 128"
    yield ("fence.proxy.async::generic.acquire.sync_restrict"
           "::shared::cluster.cluster", "")
    yield ("fence.proxy.async::generic.release.sync_restrict"
           "::shared::cta.cluster", "")
    yield ("fence.acquire.sync_restrict::shared::cluster.cluster", "")
    yield ("fence.release.sync_restrict::shared::cta.cluster", "")


def coordinates(rank):
    return "{" + ", ".join(f"%r{i + 1}" for i in range(rank)) + "}"


def tma():
    complete = ".mbarrier::complete_tx::bytes"
    hints = (("", ""), (".L2::cache_hint", ", %rd3"))
    groups = "{.cta_group::1|.cta_group::2}"
    for rank in range(1, 6):
        base = f"cp.async.bulk.tensor.{rank}d"
        where = f"[%rd1, {coordinates(rank)}]"
        to = "(.shared::cluster|.shared::cta).global"
        for (hint, policy), (cast, mask) in itertools.product(
                hints, (("", ""), (".multicast::cluster", ", %h1"))):
            tail = f"[%r0], {where}, [%r9]{mask}{policy}"
            yield f"{base}{to}{{.tile}}{complete}{cast}{groups}{hint}", tail
            if rank in (2, 3):
                yield f"{base}{groups}{to}{complete}{cast}{hint}", tail
            if rank == 2:
                four = f"[%r0], [%rd1, {coordinates(5)}], [%r9]{mask}{policy}"
                yield (f"{base}{to}.tile::gather4{complete}{cast}{groups}"
                       f"{hint}", four)
            if rank >= 3:
                offsets = ", {" + ", ".join(
                    f"%h{i + 2}" for i in range(rank - 2)) + "}"
                yield (f"{base}{to}.im2col{complete}{cast}{hint}",
                       f"[%r0], {where}, [%r9]{offsets}{mask}{policy}")
        for hint, policy in hints:
            yield (f"{base}.global.shared::cta{{.tile|.im2col_no_offs}}"
                   f".bulk_group{hint}", f"{where}, [%r0]{policy}")
            yield (f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta"
                   "(.add|.min|.max|.inc|.dec|.and|.or|.xor)"
                   f"{{.tile|.im2col_no_offs}}.bulk_group{hint}",
                   f"{where}, [%r0]{policy}")
            yield (f"cp.async.bulk.prefetch.tensor.{rank}d.L2.global{{.tile}}"
                   f"{hint}", f"{where}{policy}")
    for hint, policy in hints:
        yield (f"cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4"
               f".bulk_group{hint}", f"[%rd1, {coordinates(5)}], [%r0]{policy}")
        yield (f"cp.async.bulk(.shared::cluster|.shared::cta).global{complete}"
               f"{hint}", f"[%r0], [%rd1], %r2, [%r9]{policy}")
        yield (f"cp.async.bulk.shared::cluster.global{complete}"
               f".multicast::cluster{hint}",
               f"[%r0], [%rd1], %r2, [%r9], %h1{policy}")
        yield (f"cp.async.bulk.global.shared::cta.bulk_group{hint}",
               f"[%rd1], [%r0], %r2{policy}")
        yield (f"cp.async.bulk.global.shared::cta.bulk_group{hint}.cp_mask",
               f"[%rd1], [%r0], %r2{policy}, %h1")
        yield f"cp.async.bulk.prefetch.L2.global{hint}", f"[%rd1], %r2{policy}"
        yield (f"cp.reduce.async.bulk.global.shared::cta.bulk_group{hint}"
               "(.add|.min|.max|.inc|.dec|.and|.or|.xor)"
               "(.u32|.s32|.u64|.s64|.f32|.f64|.f16|.bf16|.b32|.b64)",
               f"[%rd1], [%r0], %r2{policy}")
        yield (f"cp.reduce.async.bulk.global.shared::cta.bulk_group{hint}"
               ".add.noftz(.f16|.bf16)", f"[%rd1], [%r0], %r2{policy}")
    yield (f"cp.async.bulk.shared::cluster.shared::cta{complete}",
           "[%r0], [%r1], %r2, [%r9]")
    yield (f"cp.reduce.async.bulk.shared::cluster.shared::cta{complete}"
           "(.add|.min|.max|.inc|.dec|.and|.or|.xor)(.u32|.s32|.u64|.b32)",
           "[%r0], [%r1], %r2, [%r9]")
    yield "cp.async.bulk.commit_group", ""
    yield "cp.async.bulk.wait_group{.read}", "1"
    yield "prefetch{.param|.const}.tensormap", "[%rd0]"
    for size in (4, 8, 16):
        yield "cp.async(.ca|.cg).shared{::cta}.global", f"[%r0], [%rd1], {size}"
    yield "cp.async.commit_group", ""
    yield "cp.async.wait_group", "1"
    yield "cp.async.wait_all", ""


def clusters():
    space = "{.shared::cluster}"
    yield f"mapa{space}.u32", "%r0, %r1, %r2"
    yield f"mapa{space}.u64", "%rd0, %rd1, %r2"
    yield f"getctarank{space}.u32", "%r0, %r1"
    yield f"getctarank{space}.u64", "%r0, %rd1"
    async_ = "{.weak}.shared::cluster.mbarrier::complete_tx::bytes"
    for vector, count in (("", 1), (".v2", 2), (".v4", 4)):
        for kind, letter in (("b32", "r"), ("u32", "r"), ("s32", "r"),
                             ("f32", "f"), ("b64", "rd"), ("u64", "rd"),
                             ("f64", "d")):
            value = registers(letter, count) if vector else f"%{letter}0"
            yield f"st.async{async_}{vector}.{kind}", f"[%r8], {value}, [%r9]"
    yield ("red.async{.relaxed.cluster}.shared::cluster.mbarrier"
           "::complete_tx::bytes(.add|.min|.max|.inc|.dec|.and|.or|.xor)"
           "(.u32|.s32|.b32)", "[%r8], %r0, [%r9]")
    yield ("red.async{.relaxed.cluster}.shared::cluster.mbarrier"
           "::complete_tx::bytes.add.u64", "[%r8], %rd0, [%r9]")
    cancel = "clusterlaunchcontrol.try_cancel.async{.shared::cta}.mbarrier" \
        "::complete_tx::bytes{.multicast::cluster::all}.b128"
    yield cancel, "[%rd0], [%rd1]"
    yield ("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128",
           "%p0, %q0")
    yield ("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128",
           "{%r0, %r1, %r2, %r3}, %q0")
    yield ("clusterlaunchcontrol.query_cancel.get_first_ctaid(::x|::y|::z)"
           ".b32.b128", "%r0, %q0")


def wgmma():
    yield "wgmma.fence.sync.aligned", ""
    yield "wgmma.commit_group.sync.aligned", ""
    yield "wgmma.wait_group.sync.aligned", "1"
    kinds = [("f16", "f16", 16, True), ("bf16", "bf16", 16, True),
             ("tf32", "tf32", 8, False)]
    kinds += [(a, b, 32, False) for a in ("e4m3", "e5m2")
              for b in ("e4m3", "e5m2")]
    for n in (8, 24, 64, 136, 256):
        for a, b, k, transposes in kinds:
            for d in ("f32", "f16"):
                if d == "f16" and a in ("bf16", "tf32"):
                    continue
                count = n // 2 if d == "f32" else n // 4
                result = registers("f" if d == "f32" else "r", count)
                name = (f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{a}.{b}")
                tail = "%p0, 1, -1"
                yield (name, f"{result}, %rd0, %rd1, {tail}" +
                       (", 1, 0" if transposes else ""))
                yield (name, f"{result}, {registers('r', 4, 200)}, %rd1, "
                       f"{tail}" + (", 1" if transposes else ""))
        for a, b in itertools.product(("s8", "u8"), repeat=2):
            for how in ("", ".satfinite"):
                result = registers("r", n // 2)
                name = f"wgmma.mma_async.sync.aligned.m64n{n}k32{how}" \
                    f".s32.{a}.{b}"
                yield name, f"{result}, %rd0, %rd1, %p0"
        yield (f"wgmma.mma_async.sync.aligned.m64n{n}k256.s32.b1.b1.and.popc",
               f"{registers('r', n // 2)}, %rd0, %rd1, %p0")
        yield (f"wgmma.mma_async.sp.sync.aligned.m64n{n}k32.f32.f16.f16",
               f"{registers('f', n // 2)}, %rd0, %rd1, %r299, 0, %p0, 1, 1, 0, "
               "0")


GROUP = "(.cta_group::1|.cta_group::2)"


def tensor_memory():
    yield (f"tcgen05.alloc{GROUP}.sync.aligned{{.shared::cta}}.b32",
           "[%rd0], 64")
    yield (f"tcgen05.alloc{GROUP}.sync.aligned{{.shared::cta}}.b32",
           "[%rd0], %r1")
    yield f"tcgen05.dealloc{GROUP}.sync.aligned.b32", "%r0, 64"
    yield f"tcgen05.relinquish_alloc_permit{GROUP}.sync.aligned", ""
    yield "tcgen05.fence(::before_thread_sync|::after_thread_sync)", ""
    yield "tcgen05.wait(::ld|::st).sync.aligned", ""
    commit = f"tcgen05.commit{GROUP}.mbarrier::arrive::one" \
        "{.shared::cluster}"
    yield f"{commit}.b64", "[%rd0]"
    yield f"{commit}.multicast::cluster.b64", "[%rd0], %h0"
    for shape, each in (("32x32b", 1), ("16x64b", 1), ("16x128b", 2),
                        ("16x256b", 4), ("16x32bx2", 1)):
        split = ", 2" if shape.endswith("x2") else ""
        for log in range(8):
            count = each << log
            if count > 128:
                continue
            data = registers("r", count, 1)
            yield (f"tcgen05.ld.sync.aligned.{shape}.x{1 << log}"
                   "{.pack::16b}.b32", f"{data}, [%r0]{split}")
            yield (f"tcgen05.st.sync.aligned.{shape}.x{1 << log}"
                   "{.unpack::16b}.b32", f"[%r0]{split}, {data}")
            yield (f"tcgen05.ld.red.sync.aligned.{shape}.x{1 << log}(.min|.max)"
                   ".u32", f"{data}, %r299, [%r0]{split}")
    yield (f"tcgen05.cp{GROUP}(.128x256b|.4x256b|.128x128b|"
           ".64x128b.warpx2::02_13|.64x128b.warpx2::01_23|.32x128b.warpx4)"
           "{.b8x16.b6x16_p32|.b8x16.b4x16_p64}", "[%r0], %rd0")
    yield f"tcgen05.shift{GROUP}.down", "[%r0]"


def tensor_products():
    uses = "{.collector::a::fill|.collector::a::use|.collector::a::lastuse|" \
        ".collector::a::discard}"
    buffers = "{" + "|".join(f".collector::b{i}::{use}" for i in range(4)
                             for use in ("fill", "use", "lastuse",
                                         "discard")) + "}"
    masks = {1: ", " + registers("r", 4, 10), 2: ", " + registers("r", 8, 10)}
    for kind in ("f16", "tf32", "f8f6f4", "i8"):
        for group, a in itertools.product((1, 2), ("%rd0", "[%r1]")):
            shifts = "{.ashift}" if a == "[%r1]" else ""
            base = f".cta_group::{group}.kind::{kind}"
            for mask, scale in itertools.product(("", masks[group]),
                                                 ("", ", 3")):
                yield (f"tcgen05.mma{base}{shifts}{uses}",
                       f"[%r0], {a}, %rd1, %r2{mask}, %p0{scale}")
                yield (f"tcgen05.mma.sp{base}{uses}",
                       f"[%r0], {a}, %rd1, [%r3], %r2{mask}, %p0{scale}")
        for a, zeros in itertools.product(("%rd0", "[%r1]"), ("", ", %rd2")):
            base = f".cta_group::1.kind::{kind}"
            yield (f"tcgen05.mma.ws{base}{buffers}",
                   f"[%r0], {a}, %rd1, %r2, %p0{zeros}")
            yield (f"tcgen05.mma.ws.sp{base}{buffers}",
                   f"[%r0], {a}, %rd1, [%r3], %r2, %p0{zeros}")
    scales = "{.scale_vec::1X|.scale_vec::2X|.scale_vec::4X|.block16|.block32}"
    for kind, group, a in itertools.product(
            ("mxf8f6f4", "mxf4", "mxf4nvf4"), (1, 2), ("%rd0", "[%r1]")):
        base = f".cta_group::{group}.kind::{kind}.block_scale{scales}{uses}"
        yield (f"tcgen05.mma{base}",
               f"[%r0], {a}, %rd1, %r2, [%r4], [%r5], %p0")
        yield (f"tcgen05.mma.sp{base}",
               f"[%r0], {a}, %rd1, [%r3], %r2, [%r4], [%r5], %p0")


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


FAMILIES = [mbarrier, barriers, fences, tma, clusters, wgmma, tensor_memory,
            tensor_products, memory, atomics, conversions, arithmetic]


def get_candidates():
    """Texts of instructions by family, each once."""
    seen = set()
    for family in FAMILIES:
        for template, operands in family():
            for name in expand(template):
                text = f"{name} {operands}".strip() + ";"
                if text not in seen:
                    seen.add(text)
                    yield family.__name__, text


def make_module(target, texts):
    """A kernel for each instruction, and the lines where these are."""
    lines = [f".version {TARGETS[target]}", f".target {target}",
             ".address_size 64"]
    where = {}
    for number, text in enumerate(texts):
        lines += [f".visible .entry k{number}()", ".reqntid 128",
                  ".minnctapersm 1", "{"] + REGISTERS.splitlines()
        lines.append(f"  {text}")
        where[len(lines)] = number
        lines += ["  ret;", "}"]
    return "\n".join(lines) + "\n", where


#===----------------------------------------------------------------------===#
# ptxas
#===----------------------------------------------------------------------===#

def ask_ptxas(ptxas, target, texts):
    """Those that ptxas accepts; whatever it complains about is taken out."""
    left = list(texts)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "forms.ptx")
        while left:
            module, where = make_module(target, left)
            with open(path, "w") as file:
                file.write(module)
            result = subprocess.run(
                [ptxas, f"-arch={target}", "-O0", path, "-o",
                 os.path.join(folder, "out")], capture_output=True, text=True)
            if result.returncode == 0:
                return left
            bad = {where[int(line)] for line in
                   re.findall(r"line (\d+); (?:error|fatal)",
                              result.stderr + result.stdout)
                   if int(line) in where}
            if not bad:
                if len(left) == 1:
                    return []
                middle = len(left) // 2
                return (ask_ptxas(ptxas, target, left[:middle]) +
                        ask_ptxas(ptxas, target, left[middle:]))
            left = [t for i, t in enumerate(left) if i not in bad]
    return left


def generate(options):
    families = collections.defaultdict(list)
    for family, text in get_candidates():
        families[family].append(text)
    jobs = [(target, family, texts[at:at + 80]) for target in TARGETS
            for family, texts in families.items()
            for at in range(0, len(texts), 80)]
    accepted = collections.defaultdict(set)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for job, texts in zip(jobs, pool.map(
                lambda job: ask_ptxas(options.ptxas, job[0], job[2]), jobs)):
            for text in texts:
                accepted[job[1], text].add(job[0])
            print(f"{job[0]} {job[1]}: {len(texts)} of {len(job[2])}",
                  flush=True)
    lines = [f"{family} {','.join(sorted(accepted[family, text]))} {text}\n"
             for family, texts in families.items() for text in texts
             if (family, text) in accepted]
    # Without a date, so that the same answers make the same file.
    with open(options.file, "wb") as file:
        file.write(gzip.compress("".join(lines).encode(), mtime=0))


#===----------------------------------------------------------------------===#
# The emulator
#===----------------------------------------------------------------------===#

def read_forms(path):
    forms = collections.defaultdict(list)
    with gzip.open(path, "rt") as file:
        for line in file:
            family, targets, text = line.rstrip("\n").split(" ", 2)
            for target in targets.split(","):
                forms[target].append((family, text))
    return forms


def decode(options, target, forms, scratch):
    """For each form what it is refused with, or nothing."""
    module, where = make_module(target, [text for _, text in forms])
    with open(scratch, "w") as file:
        file.write(module)
    result = subprocess.run([options.emulator, scratch, "--parse"],
                            capture_output=True, text=True)
    if result.returncode not in (0, 3):
        raise SystemExit(f"exit code {result.returncode}: "
                         f"{result.stderr[-500:]}")
    executed = {int(n) for n in
                re.findall(r"^k(\d+): \d+ instructions$", result.stdout, re.M)}
    refused = {}
    for line, message in re.findall(r"line (\d+): (.*)$", result.stderr, re.M):
        if int(line) in where:
            refused[where[int(line)]] = message
    return [refused.get(n, None if n in executed else "")
            for n in range(len(forms))]


def run_each(options, target, forms, answers, scratch):
    """Executes each form once on registers that are zero: it may be a
    violation, but must end."""
    failures = 0
    for number, ((_, text), answer) in enumerate(zip(forms, answers)):
        if answer is not None or number % options.every:
            continue
        module, _ = make_module(target, [text])
        with open(scratch, "w") as file:
            file.write(module)
        result = subprocess.run(
            [options.emulator, scratch, "--max-instructions=1000"],
            capture_output=True, text=True, timeout=60)
        if result.returncode not in (0, 2):
            failures += 1
            print(f"{target} {text}: exit code {result.returncode} "
                  f"{result.stderr[:200]}")
    return failures


def check(options):
    counts, failures = collections.Counter(), 0
    for target, forms in read_forms(options.file).items():
        answers = decode(options, target, forms, options.scratch)
        for (family, text), answer in zip(forms, answers):
            name = text.split()[0].rstrip(";")
            counts[family, "accepted"] += 1
            counts[family, "executed"] += answer is None
            if answer is None:
                continue
            # By name; the message may be about the operands of a form.
            if name not in answer and not answer.startswith("expected"):
                failures += 1
                print(f"{target} {text}: refused with '{answer}'")
            if options.list:
                print(f"{target} {text}: {answer}")
        if options.every:
            failures += run_each(options, target, forms, answers,
                                 options.scratch)
    total = collections.Counter()
    for family in FAMILIES:
        accepted, executed = (counts[family.__name__, what]
                              for what in ("accepted", "executed"))
        total["accepted"] += accepted
        total["executed"] += executed
        print(f"{family.__name__}: {accepted} accepted, {executed} executed, "
              f"{accepted - executed} refused")
    print(f"all: {total['accepted']} accepted, {total['executed']} executed, "
          f"{total['accepted'] - total['executed']} refused, {failures} "
          "failures")
    return failures != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("generate", "check"))
    parser.add_argument("file")
    parser.add_argument("--emulator", default="jfa-emu")
    parser.add_argument("--scratch", default="forms.ptx")
    parser.add_argument("--ptxas", default=os.environ.get("JFA_PTXAS", "ptxas"))
    parser.add_argument("--list", action="store_true",
                        help="print what is refused")
    parser.add_argument("--every", type=int, default=0,
                        help="run one of so many forms")
    options = parser.parse_args()
    return {"generate": generate, "check": check}[options.action](options)


if __name__ == "__main__":
    sys.exit(main())
