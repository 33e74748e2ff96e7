"""Runs the deterministic mode of the attention backward under several schedules, and
compares the bits of its gradients.

    compare_schedules.py KERNELS ARCHITECTURE

KERNELS is lib/Kernels. Of queries that sequences have for themselves the bits are the
same on any number of CTAs too. Without turns they are not, which shows that the
schedules change something.
"""

import os
import subprocess
import sys
import tempfile

SCHEDULES = ("eager", "late", "random:1", "random:2", "random:3", "pct:3")
JAGGED = ["--lengths=0,77,300", "--heads=2", "--kv-heads=1"]
SHARED = ["--lengths=200,0,130,60", "--broadcast-q"]
PROBLEMS = (
    ("bwd", "D128", JAGGED, (1, 3)),
    ("bwd", "D128", [*JAGGED, "--causal"], (2, 4)),
    ("bwd", "D64", [*JAGGED, "--causal"], (3,)),
    ("bwd", "D128", [*SHARED, "--q-len=140", "--causal"], (3,)),
    ("bwd_query", "D64", [*SHARED, "--q-len=100"], (4,)),
)
TILES = {"sm90": {"D64": ["-D", "BLOCK_M=128"], "D128": []},
         "sm100": {"D64": ["-D", "Q_STAGES=4", "-D", "DO_STAGES=3"], "D128": []}}


def run(kernels, kernel, options, schedule):
    """The bits of all gradients."""
    folder = f"{kernels}/attention"
    with tempfile.TemporaryDirectory() as results:
        paths = [os.path.join(results, f"{name}.npy") for name in ("dq", "dk", "dv")]
        command = ["jfa-sim", kernel, *options, "-D", "DETERMINISTIC=true",
                   f"--pre={folder}/bwd_pre.mlir", f"--post={folder}/bwd_post.mlir",
                   f"--schedule={schedule}"]
        command += [f"--out={os.path.basename(path)[:2]}={path}" for path in paths]
        done = subprocess.run(command, text=True, capture_output=True)
        if done.returncode:
            sys.exit(f"failed: {' '.join(command)}\n{done.stdout}{done.stderr}")
        return b"".join(open(path, "rb").read() for path in paths)


def write_without_turns(kernel, folder):
    """The kernel without waits for turns, and without saying that there is an order."""
    with open(kernel, encoding="utf-8") as file:
        lines = [line.replace(" {ordered}", "") for line in file
                 if "tlx.semaphore_wait" not in line]
    path = os.path.join(folder, "without_turns.mlir")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    return path


def main():
    kernels, architecture = sys.argv[1:]
    runs = 0
    for name, dim, options, grids in PROBLEMS:
        kernel = f"{kernels}/attention/{architecture}/{name}.mlir"
        options = ["-D", f"HEAD_DIM={dim[1:]}", *TILES[architecture][dim], *options] \
            if name == "bwd" else ["-D", f"HEAD_DIM={dim[1:]}", *options]
        bits = {run(kernels, kernel, [*options, f"--grid={grid}"], schedule)
                for grid in grids for schedule in SCHEDULES}
        runs += len(grids) * len(SCHEDULES)
        if len(bits) != 1:
            sys.exit(f"{len(bits)} results of {kernel} {' '.join(options)}")
    kernel = f"{kernels}/attention/{architecture}/bwd.mlir"
    with tempfile.TemporaryDirectory() as folder:
        path = write_without_turns(kernel, folder)
        bits = {run(kernels, path, ["--lengths=500", "--grid=4"], schedule)
                for schedule in SCHEDULES}
    if len(bits) == 1:
        sys.exit("expected several results without turns, but got one")
    print(f"{runs} runs, one result for each problem; {len(bits)} without turns")


main()
