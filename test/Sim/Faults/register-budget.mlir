// RUN: jfa-sim %s -D REGISTERS=240 
// RUN: not jfa-sim %s -D REGISTERS=256  2>&1 | FileCheck %s
//
// Registers that the CTA does not have.
//
// CHECK: error: 

!map = !tlx.tensormap<[64, 64], bf16>
!ring = !tlx.memdesc<[2, 64, 64], bf16>
!tile = !tlx.memdesc<[64, 64], bf16>
!bars = !tlx.mbarrier<[2]>
!bar = !tlx.mbarrier<[1]>

tlx.kernel @k() {
  tlx.param REGISTERS = 240 : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  tlx.async_tasks {
    tlx.async_task @a warps(1) registers(24) {
    }
    tlx.async_task @b warps(4) registers(REGISTERS) replicate(2) {
      tlx.named_barrier_wait %c1 threads(256)
    }
  }
}
