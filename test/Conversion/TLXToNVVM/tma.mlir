// RUN: jfa-opt %s --convert-tlx-to-nvvm --canonicalize --cse | FileCheck %s

!plain = !tlx.tensormap<[64, 128], bf16>
!ragged = !tlx.tensormap<[64, 1, 64], bf16, ragged>
!wide = !tlx.memdesc<[64, 128], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>

// Coordinates are innermost first. 128 columns are two panels: their dimension
// counts panels, the innermost is always at 0.
// CHECK-LABEL: llvm.func @plain(
// CHECK-SAME:    %[[MAP:[^:]+]]: !llvm.ptr {{.*}}, %[[I:[^:]+]]: i32, %[[J:[^:]+]]: i32)
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-DAG:     %[[C64:.+]] = arith.constant 64 : i32
tlx.kernel @plain(%map: !plain, %i: i32, %j: i32) {
  %full = tlx.alloc_barriers arrivals(1) at 0 : !tlx.mbarrier<[2]>
  %b = tlx.local_alloc at 1024 : !wide
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // CHECK: %[[PANEL:.+]] = arith.divui %[[J]], %[[C64]]
      // CHECK: %[[ELECTED:.+]] = nvvm.elect.sync -> i1
      // CHECK: scf.if %[[ELECTED]]
      // CHECK: %[[TO:.+]] = llvm.addrspacecast %{{.+}} : !llvm.ptr<3> to !llvm.ptr<7>
      // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %[[TO]], %[[MAP]], %{{.+}}, box[%[[ZERO]], %[[I]], %[[PANEL]]] : !llvm.ptr<7>, !llvm.ptr
      tlx.async_descriptor_load %map[%i, %j], %b signal %full[%i] : !plain, !wide, !tlx.mbarrier<[2]>
      // CHECK: nvvm.bar.warp.sync
      // CHECK: scf.if
      // CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[MAP]], %{{.+}}, box[%[[ZERO]], %[[I]], %[[PANEL]]]
      // CHECK: nvvm.cp.async.bulk.commit.group
      tlx.async_descriptor_store %map[%i, %j], %b : !plain, !wide
      // CHECK: nvvm.cp.async.bulk.tensor.reduce %[[MAP]], %{{.+}}, box[%[[ZERO]], %[[I]], %[[PANEL]]] {redKind = #nvvm.tma_redux_kind<add>}
      // CHECK: nvvm.cp.async.bulk.commit.group
      tlx.async_descriptor_reduce %map[%i, %j], %b : !plain, !wide
      // CHECK: nvvm.cp.async.bulk.wait_group 1 {read}
      // CHECK: nvvm.bar.warp.sync
      tlx.async_descriptor_store_wait pending(1)
      // CHECK: nvvm.cp.async.bulk.wait_group 0{{$}}
      tlx.async_descriptor_store_wait pending(0) written
      // CHECK: nvvm.cp.async.bulk.tensor.prefetch %[[MAP]], box[%[[ZERO]], %[[I]], %[[PANEL]]]
      tlx.async_descriptor_prefetch %map[%i, %j] : !plain
    }
  }
}

// The axis of a ragged map is two hardware dimensions: rows count so that the
// segment's end is the bound, 1 << 30, and its position is where it ends.
// CHECK-LABEL: llvm.func @ragged(
// CHECK-SAME:    %[[MAP:[^:]+]]: !llvm.ptr {{.*}}, %[[ROW:[^:]+]]: i32, %[[HEAD:[^:]+]]: i32, %[[START:[^:]+]]: i32, %[[LENGTH:[^:]+]]: i32)
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-DAG:     %[[BOUND:.+]] = arith.constant 1073741824 : i32
// CHECK:         %[[LEFT:.+]] = arith.subi %[[BOUND]], %[[LENGTH]]
// CHECK:         %[[AT:.+]] = arith.addi %[[LEFT]], %[[ROW]]
// CHECK:         %[[END:.+]] = arith.addi %[[START]], %[[LENGTH]]
// CHECK:         nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[MAP]], %{{.+}}, box[%[[ZERO]], %[[AT]], %[[HEAD]], %[[END]]]
tlx.kernel @ragged(%map: !ragged, %row: i32, %head: i32, %start: i32, %length: i32) {
  %c0 = arith.constant 0 : i32
  %full = tlx.alloc_barriers arrivals(1) at 0 : !tlx.mbarrier<[1]>
  %b = tlx.local_alloc at 1024 : !tile
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      tlx.async_descriptor_load %map[%row, %head, %c0] segment(%start, %length), %b signal %full : !ragged, !tile, !tlx.mbarrier<[1]>
    }
  }
}

// A policy for all that a copy touches.
// CHECK-LABEL: llvm.func @cached(
// CHECK:         %[[LAST:.+]] = llvm.inline_asm asm_dialect = att "createpolicy.fractional.L2::evict_last.b64 $0;", "=l"{{ *}}: () -> i64
// CHECK:         nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} l2_cache_hint = %[[LAST]]
// CHECK:         %[[FIRST:.+]] = llvm.inline_asm asm_dialect = att "createpolicy.fractional.L2::evict_first.b64 $0;", "=l"{{ *}}: () -> i64
// CHECK:         nvvm.cp.async.bulk.tensor.global.shared.cta {{.*}} l2_cache_hint = %[[FIRST]]
// CHECK:         %[[AGAIN:.+]] = llvm.inline_asm asm_dialect = att "createpolicy.fractional.L2::evict_first.b64 $0;", "=l"{{ *}}: () -> i64
// CHECK:         nvvm.cp.async.bulk.tensor.reduce {{.*}} l2_cache_hint = %[[AGAIN]]
tlx.kernel @cached(%map: !plain, %i: i32) {
  %full = tlx.alloc_barriers arrivals(1) at 0 : !tlx.mbarrier<[1]>
  %b = tlx.local_alloc at 1024 : !wide
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      tlx.async_descriptor_load %map[%i, %i], %b signal %full cache(evict_last) : !plain, !wide, !tlx.mbarrier<[1]>
      tlx.async_descriptor_store %map[%i, %i], %b cache(evict_first) : !plain, !wide
      tlx.async_descriptor_reduce %map[%i, %i], %b cache(evict_first) : !plain, !wide
    }
  }
}

// Of several warps the first elects a thread, which is the one that waits later.
// CHECK-LABEL: llvm.func @warpgroups(
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-DAG:     %[[C4:.+]] = arith.constant 4 : i32
// CHECK:         nvvm.barrier id
// CHECK:         %[[WARP:.+]] = nvvm.shfl.sync
// CHECK:         %[[OF_REPLICA:.+]] = arith.remui %[[WARP]], %[[C4]]
// CHECK:         %[[FIRST:.+]] = arith.cmpi eq, %[[OF_REPLICA]], %[[ZERO]]
// CHECK:         scf.if %[[FIRST]] {
// CHECK-NEXT:      %[[ELECTED:.+]] = nvvm.elect.sync -> i1
// CHECK-NEXT:      scf.if %[[ELECTED]] {
// CHECK:             nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK-NEXT:        nvvm.cp.async.bulk.commit.group
// CHECK:         scf.if
// CHECK-NEXT:      %[[AGAIN:.+]] = nvvm.elect.sync -> i1
// CHECK-NEXT:      scf.if %[[AGAIN]] {
// CHECK-NEXT:        nvvm.cp.async.bulk.wait_group 0 {read}
tlx.kernel @warpgroups(%map: !plain, %i: i32, %j: i32) {
  %b = tlx.local_alloc at 1024 : !wide
  tlx.async_tasks {
    tlx.async_task @t warps(4) replicate(2) {
      tlx.async_descriptor_store %map[%i, %j], %b : !plain, !wide
      tlx.async_descriptor_store_wait pending(0)
    }
  }
}
