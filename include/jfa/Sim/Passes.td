//===- Passes.td - Passes of the simulator -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_SIM_PASSES
#define JFA_SIM_PASSES

include "mlir/Pass/PassBase.td"

def VerifyProtocolPass
    : Pass<"tlx-verify-protocol", "::mlir::jfa::tlx::KernelOp"> {
  let summary = "Check barriers, phases and accesses by running the kernel";
  let description = [{
    Runs the kernel in the simulator without values, for trip counts from 0 to
    past its deepest ring, with asynchronous operations as early and as late as
    can be, and refuses it with what the simulator finds: deadlocks, races on
    shared memory, missing proxy fences, lapped phases, arrivals and bytes that
    do not add up. It expects a specialised kernel whose buffers are placed and
    whose fences are inserted, and changes nothing but its attribute
    `tlx.protocol`, which goes into the manifest: `verified`, or `not verified: `
    or `partly verified: ` and why.

    Trip counts are those of
    1. kernels with the arguments of attention kernels (docs/Attention.md):
       sequences of 0, 1, 2, … blocks of keys, of queries for the backward, or of
       rows for what comes before and after it, alone and one after the other
       in one CTA; tiles of one block in a row, more than any ring has stages;
       and tiles with rows for some replicas, or some CTAs of a cluster, only;
    2. kernels whose attribute `tlx.trip_counts` names integer arguments, which
       take all values from 0 up;
    3. kernels without integer arguments.

    What others notice (barriers, phases, accesses, and whether and how often
    they come) must depend on nothing else. Where it depends on other arguments or
    on what memory holds, nothing is run, and a remark at the op says `the protocol
    has not been verified` and why. Where values of tiles decide on accesses alone,
    both ways are run; where they decide on more, one is: `verified in part`. With
    `mode=strict` both are errors.

    ```mlir
    tlx.kernel @k(%n: i32) attributes {tlx.trip_counts = ["n"]} {
      %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
      tlx.async_tasks {
        tlx.async_task @wait warps(1) {
          %c0 = arith.constant 0 : i32
          tlx.barrier_wait %full, %c0 : !tlx.mbarrier<[1]>
        }
      }
    }
    ```

    is refused: `deadlock: @wait waits for a phase of parity 0 of …`.
  }];
  let options = [
    Option<"mode", "mode", "::mlir::jfa::sim::Verification",
           "::mlir::jfa::sim::Verification::On",
           "Whether to verify, and what not being able to is",
           [{::llvm::cl::values(
               clEnumValN(::mlir::jfa::sim::Verification::Off, "off",
                          "do not, and say so"),
               clEnumValN(::mlir::jfa::sim::Verification::On, "on",
                          "a remark where that cannot be done"),
               clEnumValN(::mlir::jfa::sim::Verification::Strict, "strict",
                          "an error where that cannot be done"))}]>,
  ];
}

#endif // JFA_SIM_PASSES
