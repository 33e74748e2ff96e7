// P = bf16(X W^T) and O += P W in tensor memory, n times, where P takes the place
// of the sums that it is made of. Parameters break it in one place each, for the
// pairs of Faults/product-*.mlir.
//
// RUN: jfa-sim %s --arg x=random:640x64 --arg y=none:8192 --arg n=5
// RUN: jfa-sim %s --arg x=random:640x64 --arg y=none:8192 --arg n=5 --schedule=late
// RUN: jfa-sim %s --arg x=random:640x64 --arg y=none:8192 --arg n=5 --schedule=random:3
// RUN: jfa-sim %s --arg x=random:640x64 --arg y=none:8192 --arg n=5 --schedule=pct:4
// RUN: jfa-sim %s --arg x=random:128x64 --arg y=none:8192 --arg n=1 --order --schedule=all:500
// RUN: jfa-sim %s --verify

!map = !tlx.tensormap<[128, 64], bf16>
!ring = !tlx.memdesc<[2, 128, 64], bf16>
!tile = !tlx.memdesc<[128, 64], bf16>
!trans = !tlx.memdesc<[64, 128], bf16, transposed>
!s = !tlx.memdesc<[128, 128], f32, tensor>
!p = !tlx.memdesc<[128, 128], bf16, tensor>
!o = !tlx.memdesc<[128, 64], f32, tensor>
!bar = !tlx.mbarrier<[1]>
!bars = !tlx.mbarrier<[2]>

tlx.kernel @k(%x: !map, %y: !tlx.ptr<f32>, %n: i32)
    attributes {tlx.trip_counts = ["n"]} {
  // How a slot is released: 0 when the last product that reads it is done, 1 when
  // the first is, 2 when they have been started.
  %release = tlx.param RELEASE = 0 in [0, 1, 2] : i32
  // How many arrivals a barrier takes that a product signals.
  tlx.param ARRIVALS = 1 : i32
  // Whether @use writes other values where P is, before the product has read it.
  %overwrites = tlx.param OVERWRITES = false : i1
  // Whether anyone waits for the last product.
  %waits = tlx.param WAITS = true : i1

  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %when_done = arith.cmpi eq, %release, %c0 : i32
  %when_half_done = arith.cmpi eq, %release, %c1 : i32
  %when_started = arith.cmpi eq, %release, %c2 : i32
  %buffer = tlx.local_alloc : !ring
  %s = tlx.local_alloc : !s
  %p = tlx.local_alloc alias(%s) : !p, !s
  %o = tlx.local_alloc : !o
  %full = tlx.alloc_barriers arrivals(1) : !bars
  %empty = tlx.alloc_barriers arrivals(1) : !bars
  %s_full = tlx.alloc_barriers arrivals(ARRIVALS) : !bar
  %p_full = tlx.alloc_barriers arrivals(1) : !bar
  %o_full = tlx.alloc_barriers arrivals(1) : !bar
  tlx.async_tasks {
    tlx.async_task @use warps(4) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(1) : i32
        tlx.barrier_wait %s_full, %phase : !bar
        %sum = tlx.local_load %s : !s -> tensor<128x128xf32>
        %p_16 = arith.truncf %sum : tensor<128x128xf32> to tensor<128x128xbf16>
        tlx.local_store %p_16, %p : tensor<128x128xbf16>, !p
        tlx.barrier_arrive %p_full : !bar
        scf.if %overwrites {
          tlx.local_store %p_16, %p : tensor<128x128xbf16>, !p
        }
      }
      %any = arith.cmpi sgt, %n, %c0 : i32
      %reads = arith.andi %any, %waits : i1
      scf.if %reads {
        tlx.barrier_wait %o_full, %c0 : !bar
        %sum = tlx.local_load %o : !o -> tensor<128x64xf32>
        %rows = tlx.iota dim 0 : tensor<128x64xi32>
        %pitch = tlx.splat %c64 : i32 -> tensor<128x64xi32>
        %begin = arith.muli %rows, %pitch : tensor<128x64xi32>
        %column = tlx.iota dim 1 : tensor<128x64xi32>
        %at = arith.addi %begin, %column : tensor<128x64xi32>
        tlx.global_store %sum, %y[%at]
            : tensor<128x64xf32>, !tlx.ptr<f32>, tensor<128x64xi32>
      }
    }
    tlx.async_task @load warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %tile = tlx.local_view %buffer[%slot] : !ring -> !tile
        %row = arith.muli %i, %c128 : i32
        tlx.barrier_wait %empty[%slot], %phase producer : !bars
        tlx.barrier_expect_bytes %full[%slot], %tile : !bars, !tile
        tlx.async_descriptor_load %x[%row, %c0], %tile signal %full[%slot]
            : !map, !tile, !bars
      }
    }
    tlx.async_task @multiply warps(1) {
      scf.for %i = %c0 to %n step %c1 : i32 {
        %slot, %phase = tlx.ring %i stages(2) : i32
        %one_slot, %one = tlx.ring %i stages(1) : i32
        %tile = tlx.local_view %buffer[%slot] : !ring -> !tile
        %trans = tlx.local_trans %tile : !tile -> !trans
        %more = arith.cmpi sgt, %i, %c0 : i32
        tlx.barrier_wait %full[%slot], %phase : !bars
        tlx.async_dot %tile, %trans, %s : !tile, !trans, !s
        tlx.tcgen05_commit %s_full : !bar
        scf.if %when_half_done {
          tlx.tcgen05_commit %empty[%slot] : !bars
        }
        tlx.barrier_wait %p_full, %one : !bar
        tlx.async_dot %p, %tile, %o accumulate(%more) : !p, !tile, !o
        scf.if %when_started {
          tlx.barrier_arrive %empty[%slot] : !bars
        }
        scf.if %when_done {
          tlx.tcgen05_commit %empty[%slot] : !bars
        }
      }
      %any = arith.cmpi sgt, %n, %c0 : i32
      scf.if %any {
        tlx.tcgen05_commit %o_full : !bar
      }
    }
  }
}
