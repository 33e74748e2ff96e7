# ===- barrier.py - States of mbarriers *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""One thread executes a random script of operations on an mbarrier; after each
one it asks for both parities and for the phase of the last token."""

from case import Case, make_kernel, make_random, words, zeros

STEPS = 400
OPERATIONS = ("arrive", "expect_tx", "complete_tx", "arrive_drop",
              "arrive.expect_tx", "arrive.noComplete", "init")
LIMIT = (1 << 20) - 1

KERNEL = """
ld.param.u64 %rd1, [script];
ld.param.u64 %rd2, [output];
mov.u32 %r1, 0;
mov.u32 %r9, bar;
mov.b64 %rd4, 0;
mbarrier.init.shared.b64 [%r9], 3;
STEP:
ld.global.v2.b32 {%r2, %r3}, [%rd1];
setp.eq.u32 %p1, %r2, 0;
@%p1 bra ARRIVE;
setp.eq.u32 %p1, %r2, 1;
@%p1 bra EXPECT;
setp.eq.u32 %p1, %r2, 2;
@%p1 bra COMPLETE;
setp.eq.u32 %p1, %r2, 3;
@%p1 bra DROP;
setp.eq.u32 %p1, %r2, 4;
@%p1 bra BOTH;
setp.eq.u32 %p1, %r2, 5;
@%p1 bra KEEP;
mbarrier.inval.shared.b64 [%r9];
mbarrier.init.shared.b64 [%r9], %r3;
mov.b64 %rd4, 0;
bra TEST;
ARRIVE:
mbarrier.arrive.shared.b64 %rd4, [%r9], %r3;
bra TEST;
EXPECT:
mbarrier.expect_tx.relaxed.cta.shared.b64 [%r9], %r3;
bra TEST;
COMPLETE:
mbarrier.complete_tx.relaxed.cta.shared.b64 [%r9], %r3;
bra TEST;
DROP:
mbarrier.arrive_drop.shared.b64 %rd4, [%r9], %r3;
bra TEST;
BOTH:
mbarrier.arrive.expect_tx.shared.b64 %rd4, [%r9], %r3;
bra TEST;
KEEP:
mbarrier.arrive.noComplete.shared.b64 %rd4, [%r9], %r3;
TEST:
mbarrier.test_wait.parity.shared.b64 %p2, [%r9], 0;
mbarrier.test_wait.parity.shared.b64 %p3, [%r9], 1;
mbarrier.test_wait.shared.b64 %p4, [%r9], %rd4;
selp.b32 %r4, 1, 0, %p2;
selp.b32 %r5, 2, 0, %p3;
selp.b32 %r6, 4, 0, %p4;
or.b32 %r4, %r4, %r5;
or.b32 %r4, %r4, %r6;
mbarrier.pending_count.b64 %r7, %rd4;
shr.u64 %rd5, %rd4, 43;
cvt.u32.u64 %r10, %rd5;
st.global.v4.b32 [%rd2], {%r4, %r7, %r10, 0};
add.s64 %rd1, %rd1, 8;
add.s64 %rd2, %rd2, 16;
add.s32 %r1, %r1, 1;
setp.lt.u32 %p1, %r1, STEPS;
@%p1 bra STEP;
"""


class Model:
    """The state, so that scripts stay within what PTX defines."""

    def __init__(self, count):
        self.expected = self.pending = count
        self.bytes = 0

    def flip(self):
        if self.pending == 0 and self.bytes == 0:
            self.pending = self.expected


def pick_step(rng, model):
    choices = []
    if model.pending > 0:
        choices += [(0, rng.randint(1, min(model.pending, 3))), (4,
                    rng.choice((0, 16, 48, 4096)))]
    if model.pending > 1:
        choices.append((5, rng.randint(1, model.pending - 1)))
    if model.expected > 1 and model.pending > 0:
        most = min(model.pending, model.expected - 1)
        choices.append((3, rng.randint(1, most)))
    if abs(model.bytes) < LIMIT // 2:
        choices.append((1, rng.choice((16, 32, 4096, 7))))
    if model.bytes:
        choices += [(2 if model.bytes > 0 else 1, abs(model.bytes))] * 2
    if model.pending:
        choices.append((2, rng.choice((16, 32, 5))))
    if rng.random() < 0.04 or not choices:
        return 6, rng.choice((1, 2, 3, 5, 17, LIMIT))
    return rng.choice(choices)


def make_script(name):
    rng, model, script = make_random(name), Model(3), []
    for step in range(STEPS):
        # Nothing may be left at the end.
        operation, value = (6, 1) if step == STEPS - 1 else \
            pick_step(rng, model)
        script += [operation, value]
        if operation == 6:
            model = Model(value)
            continue
        if operation in (1, 4):
            model.bytes += value
        if operation == 2:
            model.bytes -= value
        if operation == 3:
            model.expected -= value
        if operation in (0, 3, 5):
            model.pending -= value
        if operation == 4:
            model.pending -= 1
        model.flip()
    return script


def make_case(number):
    name = f"mbarrier_{number}"
    script = make_script(name)
    return Case(name, make_kernel(
        [".u64 script", ".u64 output"], KERNEL.replace("STEPS", str(STEPS)), 1,
        declarations=".shared .align 8 .b8 bar[8];"),
        [words("script", script), zeros("output", 4 * STEPS)], block=1,
        describe=lambda at: f"{OPERATIONS[script[at // 16 * 2]]} "
                            f"{script[at // 16 * 2 + 1]}, step {at // 16}")


def get_cases():
    return [make_case(number) for number in range(8)]
