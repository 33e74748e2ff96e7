// RUN: jfa-opt %s -canonicalize -cse | FileCheck %s

// What the clean-up between passes may not touch.

// A tile constant stays in its task, since it lives in registers there.
// CHECK-LABEL: tlx.kernel @constants(
// CHECK:         tlx.async_task @a
// CHECK-NEXT:      %[[X:.+]] = arith.constant dense<1.000000e+00> : tensor<64xf32>
// CHECK:         tlx.async_task @b
// CHECK-NEXT:      %[[Y:.+]] = arith.constant dense<1.000000e+00> : tensor<64xf32>
tlx.kernel @constants(%p: !tlx.ptr<f32>) {
  tlx.async_tasks {
    tlx.async_task @a warps(4) {
      %i = tlx.iota dim 0 : tensor<64xi32>
      %x = arith.constant dense<1.0> : tensor<64xf32>
      tlx.global_store %x, %p[%i] : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32>
    }
    tlx.async_task @b warps(4) {
      %i = tlx.iota dim 0 : tensor<64xi32>
      %x = arith.constant dense<1.0> : tensor<64xf32>
      tlx.global_store %x, %p[%i] : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32>
    }
  }
}

// Equal asynchronous ops are not one op, and none is dead.
// CHECK-LABEL: tlx.kernel @effects(
// CHECK-COUNT-2: local_alloc
// CHECK-COUNT-2: alloc_barriers
// CHECK-COUNT-2: tlx.barrier_expect_bytes
// CHECK-COUNT-2: tlx.async_descriptor_load
// CHECK-COUNT-2: tlx.barrier_wait
// CHECK-COUNT-2: tlx.async_dot %
// CHECK-COUNT-2: tlx.async_dot_wait
// CHECK-COUNT-2: tlx.barrier_arrive
// CHECK-COUNT-2: tlx.named_barrier_arrive
// CHECK-COUNT-2: tlx.named_barrier_wait
// CHECK-COUNT-2: tlx.async_descriptor_store_wait
// CHECK-COUNT-2: tlx.task_barrier
tlx.kernel @effects(%map: !tlx.tensormap<[64, 64], bf16>) {
  %c0 = arith.constant 0 : i32
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %full = tlx.alloc_barriers arrivals(2) : !tlx.mbarrier<[1]>
  %empty = tlx.alloc_barriers arrivals(2) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @load warps(1) {
      tlx.barrier_expect_bytes %full, %a : !tlx.mbarrier<[1]>, !tlx.memdesc<[64, 64], bf16>
      tlx.barrier_expect_bytes %full, %a : !tlx.mbarrier<[1]>, !tlx.memdesc<[64, 64], bf16>
      tlx.async_descriptor_load %map[%c0, %c0], %a signal %full : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[1]>
      tlx.async_descriptor_load %map[%c0, %c0], %a signal %full : !tlx.tensormap<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16>, !tlx.mbarrier<[1]>
    }
    tlx.async_task @compute warps(4) {
      tlx.barrier_wait %full, %c0 : !tlx.mbarrier<[1]>
      tlx.barrier_wait %full, %c0 : !tlx.mbarrier<[1]>
      %t = tlx.local_trans %b : !tlx.memdesc<[64, 64], bf16> -> !tlx.memdesc<[64, 64], bf16, transposed>
      %x = tlx.async_dot %a, %t : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16, transposed> -> tensor<64x64xf32>
      %y = tlx.async_dot %a, %t : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16, transposed> -> tensor<64x64xf32>
      %x_done = tlx.async_dot_wait %x pending(1) : tensor<64x64xf32>
      %y_done = tlx.async_dot_wait %y pending(0) : tensor<64x64xf32>
      tlx.barrier_arrive %empty : !tlx.mbarrier<[1]>
      tlx.barrier_arrive %empty : !tlx.mbarrier<[1]>
      tlx.named_barrier_arrive %c0 threads(256)
      tlx.named_barrier_arrive %c0 threads(256)
      tlx.named_barrier_wait %c0 threads(256)
      tlx.named_barrier_wait %c0 threads(256)
      tlx.async_descriptor_store_wait pending(0)
      tlx.async_descriptor_store_wait pending(0)
      tlx.task_barrier
      tlx.task_barrier
    }
  }
}

// A load is not moved across a wait, and two without one in between are one.
// CHECK-LABEL: tlx.kernel @loads(
// CHECK:         tlx.global_load
// CHECK-NOT:     tlx.global_load
// CHECK:         tlx.barrier_wait
// CHECK:         tlx.global_load
tlx.kernel @loads(%p: !tlx.ptr<i32>) {
  %c0 = arith.constant 0 : i32
  %full = tlx.alloc_barriers arrivals(2) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @a warps(1) {
      %x = tlx.global_load %p[%c0] : !tlx.ptr<i32>, i32 -> i32
      %y = tlx.global_load %p[%c0] : !tlx.ptr<i32>, i32 -> i32
      tlx.barrier_wait %full, %c0 : !tlx.mbarrier<[1]>
      %z = tlx.global_load %p[%c0] : !tlx.ptr<i32>, i32 -> i32
      %sum = arith.addi %x, %y : i32
      %all = arith.addi %sum, %z : i32
      tlx.global_store %all, %p[%c0] : i32, !tlx.ptr<i32>, i32
    }
  }
}

// CHECK-LABEL: tlx.kernel @rings(
// CHECK-DAG:     %[[ONE:.+]] = arith.constant 1 : i32
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK:         tlx.global_store %[[ONE]], %out[%[[ZERO]]]
// CHECK:         %[[SLOT:.+]], %[[PHASE:.+]] = tlx.ring %n stages(3)
// CHECK:         tlx.global_store %[[SLOT]], %out[%[[PHASE]]]
tlx.kernel @rings(%out: !tlx.ptr<i32>, %n: i32) {
  %c4 = arith.constant 4 : i32
  %slot, %phase = tlx.ring %c4 stages(2) : i32
  %slot_1, %phase_1 = tlx.ring %c4 stages(3) : i32
  tlx.global_store %slot_1, %out[%slot] : i32, !tlx.ptr<i32>, i32
  %slot_n, %phase_n = tlx.ring %n stages(3) : i32
  tlx.global_store %slot_n, %out[%phase_n] : i32, !tlx.ptr<i32>, i32
}
