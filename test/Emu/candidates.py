"""Instructions to ask ptxas about, by family.

A candidate is an opcode with modifiers, as a template, and its operands. Those of
a family are what the sections of the PTX ISA about it name, and more: what does
not exist ptxas refuses.
"""

import itertools

from scalar_candidates import arithmetic, atomics, conversions, memory
from templates import expand, registers

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
