// RUN: jfa-opt %s -tlx-specialize-pipeline | FileCheck %s --check-prefixes=CHECK,FULL
// RUN: jfa-opt %s -tlx-specialize-pipeline="bindings=CAUSAL=true,BLOCK=64,UNROLL=2" | FileCheck %s --check-prefixes=CHECK,CAUSAL
// RUN: jfa-opt %s -tlx-specialize-pipeline="arch=sm_90a bindings=CAUSAL=true,BLOCK=64,UNROLL=2" | jfa-opt -tlx-specialize-pipeline | FileCheck %s --check-prefixes=CHECK,CAUSAL

// One kernel without parameters, calls and questions is left.

// CHECK-NOT:    func.func
// FULL:         tlx.kernel @sum({{.*}}) parameters {BLOCK = 128 : i64, CAUSAL = false, UNROLL = 1 : i64}
// CAUSAL:       tlx.kernel @sum({{.*}}) parameters {BLOCK = 64 : i64, CAUSAL = true, UNROLL = 2 : i64}
// CHECK-NOT:    param
// CHECK:        tlx.async_task @a
// CHECK-NOT:      func.call
// FULL:           tlx.local_store {{.*}} : tensor<128xi32>, !tlx.memdesc<[128], i32>
// CAUSAL:         tlx.local_store {{.*}} : tensor<64xi32>, !tlx.memdesc<[64], i32>

// Without a mask the loop stays whole.
// FULL:           %[[SUM:.+]] = scf.for {{.+}} step %c1_i32
// FULL-NEXT:        tlx.global_load
// FULL-NEXT:        arith.addi
// FULL-NEXT:        scf.yield
// FULL-NOT:       scf.
// FULL:           tlx.global_store %[[SUM]]

// With one it becomes a bulk and a tail, each with a loop for an odd number of
// iterations; only those of the tail have the mask.
// CAUSAL-COUNT-1: scf.for {{.+}} step %c2_i32
// CAUSAL-NOT:       arith.minsi {{.+}} : i32
// CAUSAL-COUNT-3: scf.for
// CAUSAL-NOT:     scf.if
// CAUSAL:         tlx.global_store

func.func private @block_of(%i: i32, %block: i32) -> i32 {
  %at = arith.divui %i, %block : i32
  return %at : i32
}

// Helpers may have parameters in their types.
func.func private @view(%buffer: !tlx.memdesc<[2, BLOCK], i32>, %i: i32)
    -> !tlx.memdesc<[BLOCK], i32> {
  %view = tlx.local_view %buffer[%i] : !tlx.memdesc<[2, BLOCK], i32> -> !tlx.memdesc<[BLOCK], i32>
  return %view : !tlx.memdesc<[BLOCK], i32>
}

tlx.kernel @sum(%x: !tlx.ptr<i32>, %out: !tlx.ptr<i32>, %n: i32) {
  %block = tlx.param BLOCK = 128 in [64, 128] : i32
  %causal = tlx.param CAUSAL = false : i1
  tlx.param UNROLL = 1 from 1 to 8 : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %buffer = tlx.local_alloc : !tlx.memdesc<[2, BLOCK], i32>
  tlx.async_tasks {
    tlx.async_task @a warps(1) {
      %part = func.call @view(%buffer, %c1) : (!tlx.memdesc<[2, BLOCK], i32>, i32) -> !tlx.memdesc<[BLOCK], i32>
      %values = tlx.splat %n : i32 -> tensor<?xi32, #tlx.dims<[BLOCK]>>
      tlx.local_store %values, %part : tensor<?xi32, #tlx.dims<[BLOCK]>>, !tlx.memdesc<[BLOCK], i32>
      %first = func.call @block_of(%n, %block) : (i32, i32) -> i32
      %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0) -> (i32) : i32 {
        %value = tlx.global_load %x[%i] : !tlx.ptr<i32>, i32 -> i32
        %next = scf.if %causal -> i32 {
          %in_tail = tlx.in_masked_tail %i from %first : i32
          %masked = scf.if %in_tail -> i32 {
            %least = arith.minsi %value, %n : i32
            scf.yield %least : i32
          } else {
            scf.yield %value : i32
          }
          scf.yield %masked : i32
        } else {
          scf.yield %value : i32
        }
        %all = arith.addi %s, %next : i32
        scf.yield %all : i32
      } {tlx.unroll = #tlx.expr<UNROLL>}
      tlx.global_store %sum, %out[%c0] : i32, !tlx.ptr<i32>, i32
    }
  }
}
