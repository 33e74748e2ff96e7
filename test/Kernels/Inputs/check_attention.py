"""Compiles every shipped specialisation of the attention forward.

    check_attention.py <jfa-opt> <kernel> <specializations.txt> ptx|cubin|cubins [<arch>]

With `cubin`, only a few: ptxas takes most of a second for each; with `cubins`, all. The
folder of the kernel says for which architecture it is, unless it is given.
"""

import concurrent.futures
import functools
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile

def specializations(table):
    """The kernels that the table of shipped specialisations lists."""
    lines = [l.split() for l in table.read_text().splitlines()]
    lines = [l for l in lines if l and not l[0].startswith("#")]
    names = lines[0]
    for line in lines[1:]:
        values = (value.split(",") for value in line)
        for combination in itertools.product(*values):
            yield dict(zip(names, combination))


def arch(kernel):
    return pathlib.Path(kernel).parent.name.replace("sm", "sm_") + "a"


def run(tool, kernel, bindings, *arguments, target=None):
    options = [f"-D{name}={value}" for name, value in bindings.items()]
    return subprocess.run(
        [tool, kernel, f"--arch={target or arch(kernel)}", *options, *arguments],
        capture_output=True,
        text=True,
    )


def check_text(tool, kernel, bindings):
    """The instructions that the kernel is about, no detour through memory."""
    ptx = run(tool, kernel, bindings, "--emit=ptx", "-o", "-")
    if ptx.returncode:
        return ptx.stderr
    if ptx.stderr:
        return f"expected no diagnostics, but got {ptx.stderr}"
    needed = ["setmaxnreg.dec", "ex2.approx"]
    # The 256 threads of a tile of 64 rows may have 240 registers from the start.
    if int(bindings.get("BLOCK_M", 128)) > 64:
        needed.append("setmaxnreg.inc")
    for text in needed:
        if text not in ptx.stdout:
            return f"expected {text}"
    if arch(kernel) == "sm_90a":
        return check_hopper(ptx.stdout, bindings)
    if pathlib.Path(kernel).parts[-3] == "block_attention":
        is_backward = pathlib.Path(kernel).stem == "bwd"
        return check_blackwell_blocks(ptx.stdout, bindings, is_backward)
    if pathlib.Path(kernel).stem.startswith("bwd"):
        return check_blackwell_backward(ptx.stdout, bindings)
    return check_blackwell(ptx.stdout, bindings)


def check_hopper(ptx, bindings):
    fences = len(re.findall(r"fence\.proxy\.async\.shared::cta;", ptx))
    # One before O is copied out, one after q and k have been rotated where they
    # are, one after v has, one after q has been read into registers.
    rotated = int(bindings.get("ROTARY", 0))
    expected = 1 + rotated + (bindings.get("Q_IN_REGISTERS") == "true")
    if fences != expected:
        return f"expected {expected} proxy fences, but got {fences}"
    element = bindings["ELEMENT"]
    if f"k16.f32.{element}.{element}" not in ptx:
        return f"expected products of {element}"
    if "stmatrix" not in ptx:
        return "expected stmatrix"
    if ("ldmatrix" in ptx) != (bindings.get("Q_IN_REGISTERS") == "true"):
        return "expected ldmatrix for queries in registers, and only there"
    others = set(re.findall(r"(?:st|ld)\.shared[.\w]*", ptx))
    if others - ({"st.shared.v4.b32", "ld.shared.v4.b32"} if rotated else set()):
        return f"expected no other accesses to shared memory, but got {others}"
    return None


def check_blackwell(ptx, bindings):
    """The products of both halves, O to shared memory in 16 bytes."""
    depths = int(bindings["HEAD_DIM"]), int(bindings["BLOCK_N"])
    wanted = 4 * sum(depths) // 16
    products = len(re.findall(r"tcgen05\.mma\.cta_group::1\.kind::f16", ptx))
    if products != wanted:
        return f"expected {wanted} tcgen05.mma, but got {products}"
    for needed in ("tcgen05.ld", "tcgen05.st", "vote.sync.any", "st.shared.v4"):
        if needed not in ptx:
            return f"expected {needed}"
    if re.search(r"st\.shared\.b16|shfl\.sync\.bfly", ptx):
        return "expected no stores of 16 bits and no exchange between threads"
    return None


def check_blackwell_backward(ptx, bindings):
    """The products of a step, dK and dQ once more after the last one. dS and pieces of dQ
    to shared memory in 16 bytes; LSE and delta out of it alike."""
    dim = int(bindings["HEAD_DIM"])
    wanted = (2 * dim + 3 * 128 + 2 * 128) // 16
    products = len(re.findall(r"tcgen05\.mma\.cta_group::1\.kind::f16", ptx))
    if products != wanted:
        return f"expected {wanted} tcgen05.mma, but got {products}"
    for needed in ("tcgen05.ld", "tcgen05.st", "st.shared.v4", "ld.shared.v4"):
        if needed not in ptx:
            return f"expected {needed}"
    # CTAs that keep their queries store the sums that no other one adds to.
    in_order = bindings["DETERMINISTIC"] == "true"
    if ("cp.reduce.async.bulk" in ptx) == (in_order and "K_STAGES" in bindings):
        return "expected dQ to be added, or else stored, to global memory"
    takes_turns = in_order and "K_STAGES" not in bindings
    if ("ld.acquire.gpu" in ptx, "red.release.gpu" in ptx) != (takes_turns,) * 2:
        return "expected turns in the deterministic mode, and only there"
    if re.search(r"st\.shared\.b16|shfl\.sync\.bfly", ptx):
        return "expected no stores of 16 bits and no exchange between threads"
    return None


def check_blackwell_blocks(ptx, bindings, is_backward):
    """Products of 16 of K each: scores, and what comes of 64 weights in a row. The two
    threads that share a row exchange its maximum and sums, and nothing else."""
    dim = int(bindings["HEAD_DIM"])
    wanted = dim // 16 + 64 // 16
    if is_backward:
        wanted = 2 * dim // 16 + 3 * dim // 16
    products = len(re.findall(r"tcgen05\.mma\.cta_group::1\.kind::f16", ptx))
    if products != wanted:
        return f"expected {wanted} tcgen05.mma, but got {products}"
    for needed in ("tcgen05.ld.sync.aligned.16x32bx2", "st.shared.v4"):
        if needed not in ptx:
            return f"expected {needed}"
    exchanges = re.findall(r"shfl\.sync\.bfly\.b32 .*, (\d+), 31, -1;", ptx)
    wanted = ["16"] * (3 if is_backward else 2)
    if exchanges != wanted:
        return f"expected exchanges at distances {wanted}, but got {exchanges}"
    if "st.shared.b16" in ptx:
        return "expected no stores of 16 bits"
    return None


def check_layouts(tool, kernel, bindings):
    passes = (
        f"tlx-specialize-pipeline{{bindings={','.join(map('='.join, bindings.items()))}}}"
        ",tlx.kernel(tlx-assign-layouts,tlx-allocate-memory,tlx-insert-fences)"
    )
    result = subprocess.run(
        [tool, kernel, f"--pass-pipeline=builtin.module({passes})"],
        capture_output=True,
        text=True,
    )
    if result.returncode:
        return result.stderr
    count = result.stdout.count("tlx.convert_layout")
    return f"expected no tlx.convert_layout, but got {count}" if count else None


def check_cubin(tool, kernel, bindings, target=None):
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "fwd.cubin")
        result = run(tool, kernel, bindings, "--emit=cubin", "-o", str(output),
                     target=target)
        if result.returncode:
            return result.stderr
        manifest = json.loads(output.with_suffix(".json").read_text())
        text = json.dumps(manifest)
        for field in ("spill_load_bytes", "spill_store_bytes", "stack_bytes"):
            if f'"{field}": 0' not in text:
                return f"expected {field} to be 0"
    return None


def main(tool, kernel, table, output, target=None):
    listed = list(specializations(pathlib.Path(table)))
    checks = (check_text, check_layouts)
    if output.startswith("cubin"):
        checks = (functools.partial(check_cubin, target=target),)
    if output == "cubin":
        some = (0, 2 * len(listed) // 3, len(listed) - 1)
        listed = [listed[i] for i in some]
    failures = 0
    with concurrent.futures.ThreadPoolExecutor() as pool:
        jobs = [(b, pool.submit(c, tool, kernel, b)) for b in listed for c in checks]
        for bindings, job in jobs:
            if job.result():
                failures += 1
                print(bindings, job.result()[:2000])
    print(f"{len(listed)} specialisations, {failures} failures")
    return bool(failures)


sys.exit(main(*sys.argv[1:]))
