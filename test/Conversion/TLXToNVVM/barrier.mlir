// RUN: jfa-opt %s --convert-tlx-to-nvvm --cse | FileCheck %s

// CHECK-LABEL: llvm.func @barriers(
// CHECK-SAME:    %[[I:.+]]: i32, %[[PHASE:.+]]: i32)
tlx.kernel @barriers(%i: i32, %phase: i32) {
  // CHECK: %[[C1:.+]] = arith.constant 1 : i32
  %c1 = arith.constant 1 : i32
  // CHECK: %[[FULL:.+]] = llvm.ptrtoint %{{.+}} : !llvm.ptr<3> to i32
  // CHECK: scf.if %{{.+}} {
  // CHECK-COUNT-2: nvvm.mbarrier.init %{{.+}}, %[[C1]] : !llvm.ptr<3>, i32
  %full = tlx.alloc_barriers arrivals(1) at 0 : !tlx.mbarrier<[2]>
  // Both replicas of four warps arrive, each warp for itself.
  // CHECK: %[[EMPTY:.+]] = arith.addi %[[FULL]], %{{.+}}
  // CHECK: %[[C8:.+]] = arith.constant 8 : i32
  // CHECK: nvvm.mbarrier.init %{{.+}}, %[[C8]] : !llvm.ptr<3>, i32
  %empty = tlx.alloc_barriers arrivals(2) at 16 : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @load warps(1) {
      // CHECK: %[[OTHER:.+]] = arith.xori %[[PHASE]], %[[C1]]
      // CHECK: mbarrier.try_wait.parity.shared::cta.b64 complete, [$0], $1;{{.*}}, "r,r,~{memory}" %[[EMPTY]], %[[OTHER]]
      tlx.barrier_wait %empty, %phase producer : !tlx.mbarrier<[1]>
      // CHECK: %[[SCALED:.+]] = arith.muli %[[I]], %{{.+}}
      // CHECK: %[[AT:.+]] = arith.addi %[[FULL]], %[[SCALED]]
      // CHECK: scf.if
      // CHECK: %[[BYTES:.+]] = arith.constant 512 : i32
      // CHECK: nvvm.mbarrier.arrive.expect_tx %{{.+}}, %[[BYTES]] : !llvm.ptr<3>, i32
      tlx.barrier_expect_bytes %full[%i] bytes(512) : !tlx.mbarrier<[2]>
    }
    tlx.async_task @compute warps(4) replicate(2) {
      // CHECK: mbarrier.try_wait.parity.shared::cta.b64{{.*}} %{{.+}}, %[[PHASE]]
      tlx.barrier_wait %full[%i], %phase : !tlx.mbarrier<[2]>
      // CHECK: nvvm.bar.warp.sync
      // CHECK: scf.if
      // CHECK: nvvm.mbarrier.arrive %{{.+}} : !llvm.ptr<3>
      tlx.barrier_arrive %empty : !tlx.mbarrier<[1]>
      // CHECK: %[[ALL:.+]] = arith.constant 256 : i32
      // CHECK: nvvm.barrier id = %[[C1]] number_of_threads = %[[ALL]]
      tlx.named_barrier_wait %c1 threads(256)
      // CHECK: nvvm.barrier.arrive id = %[[I]] number_of_threads = %[[ALL]]
      tlx.named_barrier_arrive %i threads(256)
      // CHECK: %[[C3:.+]] = arith.constant 3 : i32
      // CHECK: %[[SLOT:.+]] = arith.remui %[[I]], %[[C3]]
      // CHECK: %[[ROUND:.+]] = arith.divui %[[I]], %[[C3]]
      // CHECK: %[[TURN:.+]] = arith.remui %[[ROUND]], %{{.+}}
      %slot, %turn = tlx.ring %i stages(3) : i32
      // CHECK: arith.muli %[[SLOT]],
      // CHECK: mbarrier.try_wait{{.*}} %{{.+}}, %[[TURN]]
      tlx.barrier_wait %full[%slot], %turn : !tlx.mbarrier<[2]>
    }
  }
}

// Bytes of buffers add up. An arrival that is not the only kind at its barrier
// is one of the task: its threads meet first.
// CHECK-LABEL: llvm.func @mixed(
tlx.kernel @mixed() {
  // CHECK: %[[C2:.+]] = arith.constant 2 : i32
  // CHECK: nvvm.mbarrier.init %{{.+}}, %[[C2]] : !llvm.ptr<3>, i32
  %b = tlx.alloc_barriers arrivals(2) at 0 : !tlx.mbarrier<[1]>
  %x = tlx.local_alloc at 1024 : !tlx.memdesc<[64, 64], bf16>
  %y = tlx.local_alloc at 16 : !tlx.memdesc<[4], f32>
  tlx.async_tasks {
    tlx.async_task @load warps(4) {
      // CHECK: %[[BYTES:.+]] = arith.constant 8208 : i32
      // CHECK: nvvm.mbarrier.arrive.expect_tx %{{.+}}, %[[BYTES]]
      tlx.barrier_expect_bytes %b, %x, %y : !tlx.mbarrier<[1]>, !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[4], f32>
      // CHECK: nvvm.barrier id = %{{.+}} number_of_threads = %{{.+}}
      // CHECK: nvvm.mbarrier.arrive %{{.+}} : !llvm.ptr<3>
      tlx.barrier_arrive %b : !tlx.mbarrier<[1]>
    }
  }
}
