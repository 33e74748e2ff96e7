// RUN: jfa-opt %s --tlx-insert-fences | FileCheck %s
// RUN: jfa-opt %s --tlx-insert-fences --tlx-insert-fences | FileCheck %s

!tile = !tlx.memdesc<[64, 64], bf16>
!map = !tlx.tensormap<[64, 64], bf16>

// CHECK-LABEL: @store
tlx.kernel @store(%map: !map, %n: i32) {
  %o = tlx.local_alloc : !tile
  tlx.async_tasks {
    tlx.async_task @compute warps(4) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %x = arith.constant dense<1.0> : tensor<64x64xbf16>
      // CHECK: scf.for
      scf.for %i = %c0 to %n step %c1 : i32 {
        // CHECK-NEXT: async_descriptor_store_wait
        tlx.async_descriptor_store_wait pending(0)
        // CHECK-NEXT: local_store
        tlx.local_store %x, %o : tensor<64x64xbf16>, !tile
        // CHECK-NEXT: fence_async_shared
        // CHECK-NEXT: async_descriptor_store
        tlx.async_descriptor_store %map[%c0, %c0], %o : !map, !tile
      }
    }
  }
}

// CHECK-LABEL: @present
tlx.kernel @present(%map: !map) {
  %o = tlx.local_alloc : !tile
  tlx.async_tasks {
    tlx.async_task @compute warps(4) {
      %c0 = arith.constant 0 : i32
      %x = arith.constant dense<1.0> : tensor<64x64xbf16>
      // CHECK: local_store
      // CHECK-NEXT: fence_async_shared
      // CHECK-NEXT: task_barrier
      // CHECK-NEXT: local_load
      // CHECK-NEXT: async_descriptor_store
      tlx.local_store %x, %o : tensor<64x64xbf16>, !tile
      tlx.fence_async_shared
      tlx.task_barrier
      %y = tlx.local_load %o : !tile -> tensor<64x64xbf16>
      tlx.async_descriptor_store %map[%c0, %c0], %o : !map, !tile
    }
  }
}

// Buffers that nothing accesses asynchronously need barriers only, between a
// write and a read and between a read and the write of the next iteration.
// CHECK-LABEL: @exchange
tlx.kernel @exchange(%n: i32) {
  %o = tlx.local_alloc : !tile
  tlx.async_tasks {
    tlx.async_task @compute warps(4) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %x = arith.constant dense<1.0> : tensor<64x64xbf16>
      // CHECK-NOT: fence_async_shared
      // CHECK: scf.for
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> (tensor<64x64xbf16>) : i32 {
        // CHECK-NEXT: task_barrier
        // CHECK-NEXT: local_store
        tlx.local_store %y, %o : tensor<64x64xbf16>, !tile
        // CHECK-NEXT: task_barrier
        // CHECK-NEXT: local_load
        %z = tlx.local_load %o : !tile -> tensor<64x64xbf16>
        // CHECK-NEXT: local_load
        %w = tlx.local_load %o : !tile -> tensor<64x64xbf16>
        // CHECK-NEXT: scf.yield
        scf.yield %z : tensor<64x64xbf16>
      }
      // After the loop, the last load may be under way.
      // CHECK: task_barrier
      // CHECK-NEXT: local_store
      tlx.local_store %r, %o : tensor<64x64xbf16>, !tile
    }
  }
}

// A product reads what all threads have written, and is read by warps that
// have not all waited for it.
// CHECK-LABEL: @product
tlx.kernel @product(%n: i32) {
  %a = tlx.local_alloc : !tile
  %b = tlx.local_alloc : !tile
  tlx.async_tasks {
    tlx.async_task @compute warps(4) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %x = arith.constant dense<1.0> : tensor<64x64xbf16>
      // CHECK: scf.for
      scf.for %i = %c0 to %n step %c1 : i32 {
        // CHECK-NEXT: task_barrier
        // CHECK-NEXT: local_store
        tlx.local_store %x, %a : tensor<64x64xbf16>, !tile
        // CHECK-NEXT: fence_async_shared
        // CHECK-NEXT: task_barrier
        // CHECK-NEXT: async_dot
        %s = tlx.async_dot %a, %b : !tile, !tile -> tensor<64x64xf32>
        // CHECK-NEXT: async_dot
        %t = tlx.async_dot %b, %b : !tile, !tile -> tensor<64x64xf32>
        // CHECK-NEXT: async_dot_wait
        %s_done = tlx.async_dot_wait %s pending(1) : tensor<64x64xf32>
        // CHECK-NEXT: async_dot_wait
        %t_done = tlx.async_dot_wait %t pending(0) : tensor<64x64xf32>
        // CHECK-NEXT: }
      }
    }
  }
}

// The barrier after the wait that completed the product is enough, whatever
// else is in flight.
// CHECK-LABEL: @pending
tlx.kernel @pending() {
  %a = tlx.local_alloc : !tile
  %b = tlx.local_alloc : !tile
  tlx.async_tasks {
    tlx.async_task @compute warps(4) {
      %x = arith.constant dense<1.0> : tensor<64x64xbf16>
      // CHECK: async_dot
      %s = tlx.async_dot %a, %a : !tile, !tile -> tensor<64x64xf32>
      %t = tlx.async_dot %b, %b : !tile, !tile -> tensor<64x64xf32>
      // CHECK: async_dot_wait {{.+}} pending(1)
      %s_done = tlx.async_dot_wait %s pending(1) : tensor<64x64xf32>
      // CHECK-NEXT: task_barrier
      tlx.task_barrier
      // CHECK-NEXT: async_dot_wait {{.+}} pending(0)
      %t_done = tlx.async_dot_wait %t pending(0) : tensor<64x64xf32>
      // CHECK-NEXT: local_store
      tlx.local_store %x, %a : tensor<64x64xbf16>, !tile
      // CHECK-NEXT: fence_async_shared
      // CHECK-NEXT: task_barrier
      // CHECK-NEXT: local_store
      tlx.local_store %x, %b : tensor<64x64xbf16>, !tile
    }
  }
}

// Another task's product reads it: the fence comes before the arrival.
// CHECK-LABEL: @across_tasks
tlx.kernel @across_tasks() {
  %a = tlx.local_alloc : !tile
  %private = tlx.local_alloc : !tile
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @produce warps(4) {
      %x = arith.constant dense<1.0> : tensor<64x64xbf16>
      %c0 = arith.constant 0 : i32
      // CHECK: local_store
      tlx.local_store %x, %private : tensor<64x64xbf16>, !tile
      // CHECK-NEXT: barrier_arrive
      tlx.barrier_arrive %full : !tlx.mbarrier<[1]>
      // CHECK-NEXT: local_store
      tlx.local_store %x, %a : tensor<64x64xbf16>, !tile
      // A wait tells nobody.
      // CHECK-NEXT: barrier_wait
      tlx.barrier_wait %full, %c0 : !tlx.mbarrier<[1]>
      // CHECK-NEXT: fence_async_shared
      // CHECK-NEXT: barrier_arrive
      tlx.barrier_arrive %full : !tlx.mbarrier<[1]>
      // CHECK-NEXT: barrier_arrive
      tlx.barrier_arrive %full : !tlx.mbarrier<[1]>
    }
    // CHECK: @consume
    tlx.async_task @consume warps(4) {
      // CHECK-NOT: task_barrier
      // CHECK-NOT: fence_async_shared
      %c0 = arith.constant 0 : i32
      tlx.barrier_wait %full, %c0 : !tlx.mbarrier<[1]>
      %s = tlx.async_dot %a, %a : !tile, !tile -> tensor<64x64xf32>
    }
  }
}

// Views and aliases count as the buffer they are of; so do offsets in common.
// CHECK-LABEL: @overlap
tlx.kernel @overlap(%map: !map) {
  %c0 = arith.constant 0 : i32
  %ring = tlx.local_alloc at 0 : !tlx.memdesc<[2, 64, 64], bf16>
  %view = tlx.local_view %ring[%c0] : !tlx.memdesc<[2, 64, 64], bf16> -> !tile
  %alias = tlx.local_alloc alias(%ring) at 0 : !tile, !tlx.memdesc<[2, 64, 64], bf16>
  %shared = tlx.local_alloc at 8192 : !tile
  %apart = tlx.local_alloc at 16384 : !tile
  tlx.async_tasks {
    tlx.async_task @compute warps(4) {
      // CHECK: local_store
      %x = arith.constant dense<1.0> : tensor<64x64xbf16>
      tlx.local_store %x, %view : tensor<64x64xbf16>, !tile
      // CHECK-NEXT: local_load
      %0 = tlx.local_load %apart : !tile -> tensor<64x64xbf16>
      // CHECK-NEXT: task_barrier
      // CHECK-NEXT: local_load
      %1 = tlx.local_load %alias : !tile -> tensor<64x64xbf16>
      // CHECK-NEXT: local_load
      %2 = tlx.local_load %view : !tile -> tensor<64x64xbf16>
      // CHECK-NEXT: task_barrier
      // CHECK-NEXT: local_store
      tlx.local_store %x, %shared : tensor<64x64xbf16>, !tile
    }
  }
}

// What one branch leaves behind counts after it; what both have done is done.
// CHECK-LABEL: @branches
tlx.kernel @branches(%map: !map, %n: i32) {
  %o = tlx.local_alloc : !tile
  tlx.async_tasks {
    tlx.async_task @compute warps(4) {
      %c0 = arith.constant 0 : i32
      %x = arith.constant dense<1.0> : tensor<64x64xbf16>
      %if = arith.cmpi sgt, %n, %c0 : i32
      scf.if %if {
        // CHECK: local_store
        // CHECK-NEXT: }
        tlx.local_store %x, %o : tensor<64x64xbf16>, !tile
      }
      // CHECK-NEXT: fence_async_shared
      // CHECK-NEXT: task_barrier
      // CHECK-NEXT: local_load
      %y = tlx.local_load %o : !tile -> tensor<64x64xbf16>
      // CHECK-NEXT: scf.if
      scf.if %if {
        tlx.task_barrier
      } else {
        tlx.task_barrier
      }
      // CHECK: }
      // CHECK: }
      // CHECK-NEXT: local_store
      tlx.local_store %x, %o : tensor<64x64xbf16>, !tile
      // CHECK-NEXT: fence_async_shared
      // CHECK-NEXT: async_descriptor_store
      tlx.async_descriptor_store %map[%c0, %c0], %o : !map, !tile
    }
  }
}

// A named barrier lets the threads of everyone who waits for it meet.
// CHECK-LABEL: @named_barrier
tlx.kernel @named_barrier() {
  %o = tlx.local_alloc : !tile
  tlx.async_tasks {
    tlx.async_task @compute warps(4) replicate(2) {
      %c1 = arith.constant 1 : i32
      %x = arith.constant dense<1.0> : tensor<64x64xbf16>
      // CHECK: local_load
      %y = tlx.local_load %o : !tile -> tensor<64x64xbf16>
      // CHECK-NEXT: named_barrier_wait
      tlx.named_barrier_wait %c1 threads(256)
      // CHECK-NEXT: local_store
      tlx.local_store %x, %o : tensor<64x64xbf16>, !tile
      // CHECK-NEXT: named_barrier_arrive
      tlx.named_barrier_arrive %c1 threads(256)
      // CHECK-NEXT: task_barrier
      // CHECK-NEXT: local_store
      tlx.local_store %y, %o : tensor<64x64xbf16>, !tile
    }
  }
}

// What is written unfenced the reader fences.
// CHECK-LABEL: @unfenced
tlx.kernel @unfenced(%map: !map) {
  %o = tlx.local_alloc : !tile
  tlx.async_tasks {
    tlx.async_task @compute warps(4) {
      %c1 = arith.constant 1 : i32
      %x = arith.constant dense<1.0> : tensor<64x64xbf16>
      // CHECK: local_store %{{.+}}, %{{.+}} unfenced
      tlx.local_store %x, %o unfenced : tensor<64x64xbf16>, !tile
      // CHECK-NEXT: named_barrier_arrive
      tlx.named_barrier_arrive %c1 threads(160)
    }
    tlx.async_task @store warps(1) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      tlx.named_barrier_wait %c1 threads(160)
      // CHECK: named_barrier_wait
      // CHECK-NEXT: fence_async_shared
      tlx.fence_async_shared
      // CHECK-NEXT: async_descriptor_store
      tlx.async_descriptor_store %map[%c0, %c0], %o : !map, !tile
    }
  }
}

// What an arrival says has been read has to be in registers before a copy may write
// there (PTX ISA 8.9.5). What only generic accesses or products write, and what is read
// unfenced, is left alone.
// CHECK-LABEL: tlx.kernel @read(
// CHECK:         tlx.barrier_wait
// CHECK-NEXT:    tlx.local_load
// CHECK-NEXT:    tlx.local_load
// CHECK-NEXT:    tlx.fence_async_shared
// CHECK-NEXT:    tlx.barrier_arrive
// CHECK-NEXT:    tlx.local_load
// CHECK-NEXT:    tlx.barrier_arrive
// CHECK-NEXT:    tlx.local_load {{.*}} unfenced
// CHECK-NEXT:    tlx.barrier_arrive
// CHECK-NEXT:    tlx.local_load
// CHECK-NEXT:    tlx.fence_async_shared
// CHECK-NEXT:    tlx.task_barrier
// CHECK-NEXT:    tlx.async_descriptor_load
tlx.kernel @read(%map: !map, %phase: i32) {
  %loaded = tlx.local_alloc : !tile
  %only_stored = tlx.local_alloc : !tile
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  %empty = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @read warps(4) {
      %c0 = arith.constant 0 : i32
      tlx.barrier_wait %full, %phase : !tlx.mbarrier<[1]>
      %x = tlx.local_load %loaded : !tile -> tensor<64x64xbf16>
      %y = tlx.local_load %only_stored : !tile -> tensor<64x64xbf16>
      tlx.barrier_arrive %empty : !tlx.mbarrier<[1]>
      %z = tlx.local_load %only_stored : !tile -> tensor<64x64xbf16>
      tlx.barrier_arrive %empty : !tlx.mbarrier<[1]>
      %u = tlx.local_load %loaded unfenced : !tile -> tensor<64x64xbf16>
      tlx.barrier_arrive %empty : !tlx.mbarrier<[1]>
      %v = tlx.local_load %loaded : !tile -> tensor<64x64xbf16>
      tlx.async_descriptor_load %map[%c0, %c0], %loaded signal %full
          : !map, !tile, !tlx.mbarrier<[1]>
      tlx.async_descriptor_store %map[%c0, %c0], %only_stored : !map, !tile
      tlx.async_descriptor_store_wait pending(0)
    }
  }
}

// Between the reading of a response and what tells the task that asks for the next
// one into the same buffer there is a fence: PTX ISA 9.7.13.17.
// CHECK-LABEL: tlx.kernel @response(
// CHECK:         tlx.async_task @ask
// CHECK:           tlx.clc_query
// CHECK-NEXT:      tlx.fence_async_shared
// CHECK-NEXT:      tlx.task_barrier
// CHECK-NEXT:      tlx.clc_try_cancel
// CHECK:         tlx.async_task @read
// CHECK:           tlx.clc_query
// CHECK-NEXT:      tlx.fence_async_shared
// CHECK-NEXT:      tlx.barrier_arrive
tlx.kernel @response(%phase: i32) {
  %r = tlx.local_alloc : !tlx.memdesc<[4], i32>
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  %empty = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @ask warps(1) {
      %is_canceled, %cta = tlx.clc_query %r : !tlx.memdesc<[4], i32>
      tlx.clc_try_cancel %r signal %full : !tlx.memdesc<[4], i32>, !tlx.mbarrier<[1]>
    }
    tlx.async_task @read warps(1) {
      %is_canceled, %cta = tlx.clc_query %r : !tlx.memdesc<[4], i32>
      tlx.barrier_arrive %empty : !tlx.mbarrier<[1]>
    }
  }
}
