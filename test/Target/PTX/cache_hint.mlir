// RUN: jfa-opt %s --arch=sm_90a --emit=ptx -o - | FileCheck %s
// RUN: jfa-opt %s --arch=sm_90a --emit=cubin -o %t.cubin
// REQUIRES: ptxas

!map = !tlx.tensormap<[64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>

// CHECK-LABEL: .entry copy(
// CHECK:     createpolicy.fractional.L2::evict_last.b64 [[LAST:%.+]];
// CHECK:     cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%{{.+}}], [%{{.+}}, {%{{.+}}, %{{.+}}}], [%{{.+}}], [[LAST]];
// CHECK:     createpolicy.fractional.L2::evict_first.b64 [[FIRST:%.+]];
// CHECK:     cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint [%{{.+}}, {%{{.+}}, %{{.+}}}], [%{{.+}}], [[FIRST]];
tlx.kernel @copy(%from: !map, %to: !map) {
  %c0 = arith.constant 0 : i32
  %tile = tlx.local_alloc : !tile
  %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
  tlx.async_tasks {
    tlx.async_task @copy warps(1) {
      tlx.barrier_expect_bytes %full[%c0], %tile : !tlx.mbarrier<[1]>, !tile
      tlx.async_descriptor_load %from[%c0, %c0], %tile signal %full[%c0] cache(evict_last) : !map, !tile, !tlx.mbarrier<[1]>
      tlx.barrier_wait %full[%c0], %c0 : !tlx.mbarrier<[1]>
      tlx.async_descriptor_store %to[%c0, %c0], %tile cache(evict_first) : !map, !tile
      tlx.async_descriptor_store_wait pending(0)
    }
  }
}
