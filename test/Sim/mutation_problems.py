# ===- mutation_problems.py - What mutants are run on -*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Arguments of jfa-sim for each kernel that is shipped, by the end of its path: the
parameters, the masks and the modes that it is shipped with, and rings of one stage."""

_FORWARD = "--lengths=0,1,77,300,700 --heads=1 --grid=1"
_FORWARD_128 = "--lengths=0,1,300,700 --heads=1"
_BACKWARD = "--lengths=0,1,77,300 --heads=2 --kv-heads=1 --grid=1"
_TURNS = "--lengths=0,1,77,700 --q-len=200 --heads=2 --kv-heads=1 --grid=3"
_STEPS = "--lengths=0,1,77,700 --heads=2 --grid=1"
_QUERY = "--lengths=0,1,300,77 --q-len=100 --broadcast-q --heads=2 --grid=1"
_BLOCKS = "--lengths=1,0,64,130,64,700 --grid=1"

PROBLEMS = {
    "/attention/sm90/fwd.mlir": {
        "D64": f"-D HEAD_DIM=64 {_FORWARD}",
        "D64 causal": f"-D HEAD_DIM=64 --causal {_FORWARD}",
        "D64, 192 rows": "-D HEAD_DIM=64 -D BLOCK_M=192 -D LOAD_REGISTERS=32 "
                         f"-D SOFTMAX_REGISTERS=160 {_FORWARD}",
        "D128": "-D HEAD_DIM=128 -D Q_IN_REGISTERS=true "
                f"{_FORWARD_128} --grid=1",
        "D128, clusters": "-D HEAD_DIM=128 -D CLUSTER=2 -D Q_IN_REGISTERS=true "
                          f"{_FORWARD_128} --grid=2",
        "D128 causal, clusters": "-D HEAD_DIM=128 -D CLUSTER=2 --causal "
                                 f"-D Q_IN_REGISTERS=true {_FORWARD_128} --grid=2",
        "D64 broadcast query": f"-D HEAD_DIM=64 --q-len=130 --broadcast-q "
                               f"{_FORWARD}",
        "D64 without PINGPONG": f"-D HEAD_DIM=64 -D PINGPONG=false {_FORWARD}",
        "D64, one stage": f"-D HEAD_DIM=64 -D STAGES=1 {_FORWARD}",
    },
    "/attention/sm90/bwd.mlir": {
        "D64": f"-D HEAD_DIM=64 -D BLOCK_M=128 {_BACKWARD}",
        "D64, one dS": f"-D HEAD_DIM=64 -D BLOCK_M=128 -D DS_STAGES=1 {_BACKWARD}",
        "D64 causal": f"-D HEAD_DIM=64 -D BLOCK_M=128 --causal {_BACKWARD}",
        "D128": f"-D HEAD_DIM=128 -D BLOCK_M=64 {_BACKWARD}",
        "D128 causal": f"-D HEAD_DIM=128 -D BLOCK_M=64 --causal {_BACKWARD}",
        "D64 broadcast query": "-D HEAD_DIM=64 -D BLOCK_M=128 --q-len=300 "
                               f"--broadcast-q {_BACKWARD}",
        "D128 fragments": f"-D FRAGMENTS=true {_BACKWARD}",
        "late gradients": f"-D LATE_GRADIENTS=true {_BACKWARD}",
        "D128 deterministic": f"-D DETERMINISTIC=true {_TURNS}",
        "D64 deterministic, causal": "-D HEAD_DIM=64 -D BLOCK_M=128 "
                                     f"-D DETERMINISTIC=true --causal {_TURNS}",
        "D128 deterministic, causal broadcast query":
            "-D DETERMINISTIC=true --broadcast-q --causal "
            f"{_TURNS}",
    },
    "/attention/bwd_pre.mlir": {
        "D64": f"-D HEAD_DIM=64 {_STEPS}",
        "D128": f"-D HEAD_DIM=128 {_STEPS}",
    },
    "/attention/bwd_post.mlir": {
        "D64": f"-D HEAD_DIM=64 {_STEPS}",
        "D64 fragments": f"-D HEAD_DIM=64 -D FRAGMENTS=true {_STEPS}",
        "D128": f"-D HEAD_DIM=128 {_STEPS}",
    },
    "/attention/sm90/bwd_query.mlir": {
        "D64": f"-D HEAD_DIM=64 {_QUERY}",
        "D64 causal": f"-D HEAD_DIM=64 --causal {_QUERY}",
        "D128": f"-D HEAD_DIM=128 {_QUERY}",
        "D64 deterministic": f"-D HEAD_DIM=64 -D DETERMINISTIC=true {_QUERY}",
    },
    "/block_attention/sm90/fwd.mlir": {
        "D64": f"-D HEAD_DIM=64 {_BLOCKS}",
        "D128": f"-D HEAD_DIM=128 {_BLOCKS}",
        "D64, rotated": f"-D HEAD_DIM=64 -D ROTARY=2 {_BLOCKS}",
    },
    "/block_attention/sm90/bwd.mlir": {
        "D64": f"-D HEAD_DIM=64 -D STAGES=4 {_BLOCKS}",
        "D64, rotated": "-D HEAD_DIM=64 -D ROTARY=1 -D ROTATE_INPUTS=true "
                        f"{_BLOCKS}",
        "D128, rotated": f"-D HEAD_DIM=128 -D STAGES=2 -D ROTARY=2 {_BLOCKS}",
    },
    "/block_attention/sm100/fwd.mlir": {
        "D64": f"-D HEAD_DIM=64 {_BLOCKS}",
        "D64, rotated": f"-D HEAD_DIM=64 -D ROTARY=2 {_BLOCKS}",
        "D128": f"-D HEAD_DIM=128 {_BLOCKS}",
        "D128, rotated": f"-D HEAD_DIM=128 -D ROTARY=1 {_BLOCKS}",
    },
    "/block_attention/sm100/bwd.mlir": {
        "D64": f"-D HEAD_DIM=64 {_BLOCKS}",
        "D64, rotated": "-D HEAD_DIM=64 -D ROTARY=1 -D ROTATE_INPUTS=true "
                        f"{_BLOCKS}",
        "D128, rotated": "-D HEAD_DIM=128 -D ROTARY=2 -D ROTATE_INPUTS=true "
                         f"-D OUT_STAGES=1 {_BLOCKS}",
    },
    "/attention/sm100/fwd.mlir": {
        "D64": f"-D HEAD_DIM=64 {_FORWARD}",
        "D64, pairs": "-D HEAD_DIM=64 -D CTAS=2 -D STAGES=4 "
                      f"{_FORWARD_128} --grid=2",
        "D64, dynamic": "-D HEAD_DIM=64 -D DYNAMIC=true "
                        "--lengths=0,1,77,300,700 --heads=1 --grid=3",
        "D64, dynamic pairs": "-D HEAD_DIM=64 -D CTAS=2 -D STAGES=4 "
                              f"-D DYNAMIC=true {_FORWARD_128} --grid=6",
    },
    "/attention/sm100/bwd.mlir": {
        "D64": f"-D HEAD_DIM=64 -D Q_STAGES=4 -D DO_STAGES=3 {_BACKWARD}",
        "D128 causal": f"-D HEAD_DIM=128 --causal {_BACKWARD}",
        "D64 broadcast query": "-D HEAD_DIM=64 --q-len=300 --broadcast-q "
                               f"{_BACKWARD}",
        "D64, late release": "-D HEAD_DIM=64 -D EARLY_RELEASE=false "
                             f"{_BACKWARD}",
        "D64 deterministic, causal": "-D HEAD_DIM=64 -D DETERMINISTIC=true --causal "
                                     f"{_TURNS}",
        "D64 deterministic, causal broadcast query":
            "-D HEAD_DIM=64 -D DETERMINISTIC=true --broadcast-q --causal "
            "--lengths=700,400,400,130 --q-len=300 --heads=2 --kv-heads=1 --grid=3",
    },
    "/attention/sm100/bwd_pair.mlir": {
        "D128": "--lengths=0,1,300,700 --heads=1 --grid=2",
        "D128 causal": "--causal --lengths=0,1,129,700 --heads=2 --kv-heads=1 --grid=2",
    },
    "/attention/sm100/bwd_query.mlir": {
        "D64": f"-D HEAD_DIM=64 {_QUERY}",
        "D128 causal": f"-D HEAD_DIM=128 --causal {_QUERY}",
        "D64 deterministic": f"-D HEAD_DIM=64 -D DETERMINISTIC=true {_QUERY}",
    },
}


# Another run of a problem, which shows what its own lengths do not: in place of the
# arguments that it repeats.
FURTHER_RUNS = {
    # Tiles that pass a turn on come before others that add to the same sums.
    "D128 deterministic, causal broadcast query":
        "--order --lengths=0,100,450,100,200,100,900,300 --q-len=1024 --grid=6",
}

_TURNED = "@softmax waits for the copies before it rotates them and says so"
_ROTATED = "@softmax waits for Q and K to rotate them before it makes dS"
_ANSWER_FENCED = "@store may have read who works on, and fences that before each copy"
# Problems of block attention for Blackwell.
_ALL_ROTATED = ("D64, rotated", "D128, rotated")

# Mutants that are the same protocol, though they are lowered to other code: the
# kernel, what its problems begin with (or each of several), the mutation, the task, the
# line (with the one before it, if there are several alike), and why.
EQUIVALENT = [
    ("/attention/sm100/fwd.mlir", "", "swap two waits", "multiply",
     "tlx.barrier_wait %p_half[%c0], %s_phase : !halves",
     "once all of P is there, its first half is"),
    ("/attention/sm100/fwd.mlir", "", "swap two waits", "multiply",
     "tlx.barrier_wait %p_half[%c1], %s_phase : !halves",
     "once all of P is there, its first half is"),
    ("/attention/sm100/fwd.mlir", "D64, dynamic", "drop a fence", "correction",
     "tlx.local_store %rounded, %out_panel : !output_16, !out_panel", _ANSWER_FENCED),
    ("/attention/sm100/fwd.mlir", "D64, dynamic", "drop a fence", "correction",
     "tlx.local_store %zero_16, %out_panel : !output_16, !out_panel", _ANSWER_FENCED),
    ("/attention/sm90/bwd.mlir", ("D64", "D128"), "release before the last use",
     "compute",
     "tlx.barrier_arrive %do_empty[%slot] : !ring",
     "@load waits for the step's queries to be released before it waits for its "
     "gradients, and @compute releases them after the product in question"),
    ("/attention/sm90/bwd.mlir", ("D128", "late gradients"), "drop a named wait",
     "compute",
     "// dV leaves through the keys, once neither replica reads them.\n"
     "tlx.named_barrier_wait %c1 threads(256)",
     "the bytes of a replica's dV are those columns of K that of the last step's "
     "products only its own dQ reads, which it has waited for; what else reads them, the "
     "scores of both, is done before the replicas meet for that step's dS"),
    ("/attention/sm100/bwd.mlir", "D64 deterministic, causal broadcast query",
     "double a semaphore post", "reduce",
     "tlx.semaphore_post %turns[%semaphore] : !tlx.ptr<i32>, i32",
     "of the problem's tiles none that sees a block has a turn at it after one that does "
     "not; where one has, as in sm90/bwd.mlir's, the mutant is killed"),
    ("/block_attention/sm100/bwd.mlir", "", "swap two waits", "load",
     "tlx.barrier_wait %v_empty[%slot], %phase producer : !slots",
     "V is free once the products that read dO are done"),
    ("/block_attention/sm100/bwd.mlir", "", "swap two waits", "load",
     "tlx.barrier_wait %do_empty[%slot], %phase producer : !slots",
     "dO is free once the gradient that reads Q is done"),
    ("/block_attention/sm100/bwd.mlir", "", "swap two waits", "load",
     "tlx.barrier_wait %q_empty[%slot], %phase producer : !slots",
     "Q is free once the gradient that reads K is done"),
    ("/block_attention/sm100/fwd.mlir", _ALL_ROTATED, "drop a wait", "scores",
     "tlx.barrier_wait %qk_full[%slot], %phase : !slots", _TURNED),
    ("/block_attention/sm100/fwd.mlir", "D64, rotated", "drop a wait", "outputs",
     "tlx.barrier_wait %v_full[%slot], %phase : !slots", _TURNED),
    ("/block_attention/sm100/fwd.mlir", "D64, rotated", "drop a wait", "outputs",
     "tlx.barrier_wait %turned[%slot], %phase : !slots",
     "@softmax makes P after it has rotated V, and @outputs waits for P"),
    ("/block_attention/sm100/bwd.mlir", _ALL_ROTATED, "drop a wait", "scores",
     "tlx.barrier_wait %qk_full[%slot], %phase : !slots", _TURNED),
    ("/block_attention/sm100/bwd.mlir", "D128, rotated", "drop a wait", "scores",
     "tlx.barrier_wait %v_full[%slot], %phase : !slots", _TURNED),
    ("/block_attention/sm100/bwd.mlir", _ALL_ROTATED, "drop a wait", "gradients",
     "tlx.barrier_wait %qk_full[%slot], %phase : !slots", _ROTATED),
    ("/attention/sm90/bwd_query.mlir", "", "drop a fence", "compute",
     "tlx.local_store %p_16, %p_rows : !weights, !p_rows",
     "the fence after dS comes before the named barrier that tells of both"),
]


def why_equivalent(kernel, problem, mutation, task, line):
    """Why a mutant is known to be equivalent, or nothing. `line` is the line before
    and the line."""
    for suffix, begin, *where, text, why in EQUIVALENT:
        if kernel.endswith(suffix) and problem.startswith(begin) and \
                [mutation, task] == where and f"\n{line}".endswith(f"\n{text}"):
            return why
    return ""


def find(kernel):
    """The problems of the kernel at a path."""
    for suffix, problems in PROBLEMS.items():
        if kernel.endswith(suffix):
            return {name: text.split() for name, text in problems.items()}
    return {}
