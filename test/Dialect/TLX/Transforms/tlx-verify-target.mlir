// RUN: jfa-opt %s --pass-pipeline='builtin.module(tlx.kernel(tlx-verify-target{arch=sm_100a}))' | FileCheck %s
// RUN: jfa-opt %s --pass-pipeline='builtin.module(tlx.kernel(tlx-verify-target{arch=sm_103a}))' | FileCheck %s

// What every architecture has, and what is Blackwell's.
// CHECK-LABEL: tlx.kernel @tensor()
tlx.kernel @tensor() {
  %a = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %c = tlx.local_alloc : !tlx.memdesc<[128, 64], f32, tensor>
  %done = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      tlx.async_dot %a, %b, %c : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[128, 64], f32, tensor>
      tlx.tcgen05_commit %done : !tlx.mbarrier<[1]>
      tlx.tcgen05_fence after
    }
  }
}
