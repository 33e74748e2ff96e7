// RUN: jfa-opt %s --tlx-insert-fences --split-input-file | FileCheck %s

// After a wait, before what others learn from; nothing between accesses to
// different columns, and nothing twice.
!s = !tlx.memdesc<[128, 64], f32, tensor>
!part = !tlx.memdesc<[128, 32], f32, tensor>
!bar = !tlx.mbarrier<[1]>
// CHECK-LABEL: tlx.kernel @around_barriers(
tlx.kernel @around_barriers(%phase: i32, %x: f32) {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %s = tlx.local_alloc : !s
  %left = tlx.local_slice %s[%c0, %c0] : !s -> !part
  %right = tlx.local_slice %s[%c0, %c32] : !s -> !part
  %full = tlx.alloc_barriers arrivals(1) : !bar
  %empty = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      // CHECK:      tlx.barrier_wait
      // CHECK-NEXT: tlx.tcgen05_fence after
      // CHECK-NEXT: tlx.local_load
      // CHECK-NEXT: tlx.local_store
      // CHECK-NEXT: tlx.local_store
      // CHECK-NEXT: tlx.local_load
      // CHECK-NEXT: tlx.tcgen05_fence before
      // CHECK-NEXT: tlx.barrier_arrive
      // CHECK-NEXT: tlx.barrier_arrive
      tlx.barrier_wait %full, %phase : !bar
      %a = tlx.local_load %left : !part -> tensor<128x32xf32>
      tlx.local_store %a, %left : tensor<128x32xf32>, !part
      tlx.local_store %a, %left : tensor<128x32xf32>, !part
      %b = tlx.local_load %right : !part -> tensor<128x32xf32>
      tlx.barrier_arrive %empty : !bar
      tlx.barrier_arrive %empty : !bar
      // What it has written itself is there only after the fence.
      // CHECK-NEXT: tlx.local_store
      // CHECK-NEXT: tlx.tcgen05_fence before
      // CHECK-NEXT: tlx.local_load
      tlx.local_store %b, %left : tensor<128x32xf32>, !part
      %c = tlx.local_load %s : !s -> tensor<128x64xf32>
    }
  }
}

// -----

// In a loop the wait of one turn comes before the access of the next. The author's
// own fences are enough.
!s = !tlx.memdesc<[128, 64], f32, tensor>
!bar = !tlx.mbarrier<[1]>
// CHECK-LABEL: tlx.kernel @loop(
tlx.kernel @loop(%n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %s = tlx.local_alloc : !s
  %full = tlx.alloc_barriers arrivals(1) : !bar
  %empty = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      // CHECK:      scf.for
      // CHECK-NEXT:   tlx.tcgen05_fence after
      // CHECK-NEXT:   tlx.local_load
      // CHECK-NEXT:   tlx.tcgen05_fence before
      // CHECK-NEXT:   tlx.barrier_arrive
      // CHECK-NEXT:   tlx.barrier_wait
      scf.for %i = %c0 to %n step %c1 : i32 {
        %a = tlx.local_load %s : !s -> tensor<128x64xf32>
        tlx.barrier_arrive %empty : !bar
        tlx.barrier_wait %full, %c0 : !bar
      }
      // CHECK:      tlx.barrier_wait
      // CHECK-NEXT: tlx.tcgen05_fence after
      // CHECK-NEXT: tlx.local_load
      // CHECK-NEXT: tlx.tcgen05_fence before
      // CHECK-NEXT: tlx.barrier_arrive
      tlx.barrier_wait %full, %c0 : !bar
      tlx.tcgen05_fence after
      %a = tlx.local_load %s : !s -> tensor<128x64xf32>
      tlx.tcgen05_fence before
      tlx.barrier_arrive %empty : !bar
    }
  }
}

// -----

// A product waits for the other threads of its own task; a commit needs nothing.
!a = !tlx.memdesc<[128, 64], bf16, tensor>
!b = !tlx.memdesc<[64, 64], bf16>
!s = !tlx.memdesc<[128, 64], f32, tensor>
!bar = !tlx.mbarrier<[1]>
// CHECK-LABEL: tlx.kernel @own_factor(
tlx.kernel @own_factor() {
  %a = tlx.local_alloc : !a
  %b = tlx.local_alloc : !b
  %s = tlx.local_alloc : !s
  %done = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %x = arith.constant dense<0.0> : tensor<128x64xbf16>
      // CHECK:      tlx.local_store
      // CHECK-NEXT: tlx.tcgen05_fence before
      // CHECK-NEXT: tlx.task_barrier
      // CHECK-NEXT: tlx.tcgen05_fence after
      // CHECK-NEXT: tlx.async_dot
      // CHECK-NEXT: tlx.tcgen05_commit
      tlx.local_store %x, %a : tensor<128x64xbf16>, !a
      tlx.async_dot %a, %b, %s : !a, !b, !s
      tlx.tcgen05_commit %done : !bar
    }
  }
}

// -----

// Two warpgroups share each row: what one has read the other may overwrite.
!s = !tlx.memdesc<[128, 64], f32, tensor>
!half = !tlx.memdesc<[128, 32], f32, tensor>
!p = !tlx.memdesc<[128, 64], bf16, tensor>
// CHECK-LABEL: tlx.kernel @two_warpgroups(
tlx.kernel @two_warpgroups() {
  %c0 = arith.constant 0 : i32
  %s = tlx.local_alloc : !s
  %half = tlx.local_slice %s[%c0, %c0] : !s -> !half
  %p = tlx.local_reinterpret %half : !half -> !p
  tlx.async_tasks {
    tlx.async_task @t warps(8) {
      // CHECK:      tlx.local_load
      // CHECK-NEXT: arith.truncf
      // CHECK-NEXT: tlx.tcgen05_fence before
      // CHECK-NEXT: tlx.task_barrier
      // CHECK-NEXT: tlx.tcgen05_fence after
      // CHECK-NEXT: tlx.local_store
      %x = tlx.local_load %s : !s -> tensor<128x64xf32>
      %y = arith.truncf %x : tensor<128x64xf32> to tensor<128x64xbf16>
      tlx.local_store %y, %p : tensor<128x64xbf16>, !p
    }
  }
}
