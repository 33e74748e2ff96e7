# ===- timing.py - Times calls in turns ---------------- -*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""Times calls in turns, in rounds whose order rotates, so that a GPU that warms up or
slows down does so for all of them alike."""

import statistics
import time


def gpu_timer(rep, pause=50):
    """Milliseconds of a call on the GPU, with the L2 cache flushed before each: the
    median over `rep` milliseconds of calls. The GPU rests for `pause` milliseconds
    before, so that its clocks recover from what ran there; where it does not rest,
    the power of the call itself has set its clocks before it is timed."""
    from triton.testing import do_bench
    warmup = 10 if pause else rep // 3

    def timer(call):
        time.sleep(pause / 1000)
        return do_bench(call, warmup=warmup, rep=rep, return_mode="median")

    return timer


def kernel_times(call, count=20):
    """Milliseconds of each kernel of a call, in the order in which they first run:
    the mean over calls, as the profiler sees them, with the L2 cache as it is."""
    import torch
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(count):
            call()
        torch.cuda.synchronize()
    times = {}
    for event in profiler.events():
        times[event.name] = times.get(event.name, 0.0) + event.device_time
    return {name: time / count / 1000 for name, time in times.items()
            if time > 0}


def measure(calls, rounds, timer):
    """Milliseconds of every round, per name."""
    times = {name: [] for name in calls}
    names = list(calls)
    for r in range(rounds):
        turn = r % len(names) if names else 0
        for name in names[turn:] + names[:turn]:
            times[name].append(timer(calls[name]))
    return times


def gains(current, times):
    """How many times as fast as the current one, round by round."""
    return [c / t for c, t in zip(current, times)]


def spread(values):
    """The range of the middle half, which one odd round does not change."""
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return high - low
