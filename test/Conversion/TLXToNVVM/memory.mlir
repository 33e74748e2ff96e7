// RUN: jfa-opt %s --tlx-assign-layouts --convert-tlx-to-nvvm --canonicalize --cse | FileCheck %s

// CHECK-LABEL: llvm.func @views(
// CHECK-SAME:    %[[I:.+]]: i32, %[[P:.+]]: !llvm.ptr<1>)
// CHECK-DAG:     %[[RING:.+]] = arith.constant 16384 : i32
// CHECK-DAG:     %[[ROW:.+]] = arith.constant 128 : i32
// CHECK-DAG:     %[[C64:.+]] = arith.constant 64 : i32
// CHECK-DAG:     %[[PANEL:.+]] = arith.constant 8192 : i32
tlx.kernel @views(%i: i32, %p: !tlx.ptr<bf16>) {
  // CHECK: %[[BASE:.+]] = llvm.ptrtoint
  %ring = tlx.local_alloc at 0 : !tlx.memdesc<[2, 64, 128], bf16>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      // CHECK: %[[OFFSET:.+]] = arith.muli %[[I]], %[[RING]]
      // CHECK: %[[TILE:.+]] = arith.addi %[[BASE]], %[[OFFSET]]
      %tile = tlx.local_view %ring[%i] : !tlx.memdesc<[2, 64, 128], bf16> -> !tlx.memdesc<[64, 128], bf16>
      // CHECK: %[[ROWS:.+]] = arith.muli %[[I]], %[[ROW]]
      // CHECK: %[[PANELS:.+]] = arith.divui %[[I]], %[[C64]]
      // CHECK: %[[COLUMNS:.+]] = arith.muli %[[PANELS]], %[[PANEL]]
      // CHECK: %[[SUM:.+]] = arith.addi %[[ROWS]], %[[COLUMNS]]
      // CHECK: arith.addi %[[TILE]], %[[SUM]]
      %part = tlx.local_slice %tile[%i, %i] : !tlx.memdesc<[64, 128], bf16> -> !tlx.memdesc<[8, 64], bf16, of = [64, 128]>
      %x = tlx.local_load %part : !tlx.memdesc<[8, 64], bf16, of = [64, 128]> -> tensor<8x64xbf16>
      tlx.local_store %x, %part : tensor<8x64xbf16>, !tlx.memdesc<[8, 64], bf16, of = [64, 128]>
    }
  }
}

// A load takes the swizzle from the address: bits 7 to 9 flip bits 4 to 6.
// CHECK-LABEL: llvm.func @swizzled_load(
// CHECK-DAG:     %[[C3:.+]] = arith.constant 3 : i32
// CHECK-DAG:     %[[C112:.+]] = arith.constant 112 : i32
// CHECK:         %[[BITS:.+]] = arith.shrui %[[ADDRESS:.+]], %[[C3]]
// CHECK-NEXT:    %[[FLIP:.+]] = arith.andi %[[BITS]], %[[C112]]
// CHECK-NEXT:    %[[AT:.+]] = arith.xori %[[ADDRESS]], %[[FLIP]]
// CHECK-NEXT:    %[[POINTER:.+]] = llvm.inttoptr %[[AT]] : i32 to !llvm.ptr<3>
// CHECK-NEXT:    llvm.load %[[POINTER]] {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>
// CHECK-NOT:     nvvm.stmatrix
tlx.kernel @swizzled_load() {
  %b = tlx.local_alloc at 0 : !tlx.memdesc<[8, 64], bf16>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      %x = tlx.local_load %b : !tlx.memdesc<[8, 64], bf16> -> tensor<8x64xbf16>
      tlx.local_store %x, %b : tensor<8x64xbf16>, !tlx.memdesc<[8, 64], bf16>
    }
  }
}

// Arrays are plain.
// CHECK-LABEL: llvm.func @array(
// CHECK-NOT:     arith.xori
// CHECK:         llvm.store %{{.+}} : f32, !llvm.ptr<3>
// CHECK:         llvm.return
tlx.kernel @array() {
  %b = tlx.local_alloc at 16 : !tlx.memdesc<[32], f32>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      %x = arith.constant dense<1.0> : tensor<32xf32>
      tlx.local_store %x, %b : tensor<32xf32>, !tlx.memdesc<[32], f32>
    }
  }
}

// Sixteen columns of an accumulator in 16 bits are one stmatrix.
// CHECK-LABEL: llvm.func @matrices(
// CHECK:         nvvm.wgmma.commit.group.sync.aligned
// CHECK-COUNT-4: nvvm.stmatrix %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>}
// CHECK-NOT:     nvvm.stmatrix
// CHECK:         nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
tlx.kernel @matrices() {
  %a = tlx.local_alloc at 0 : !tlx.memdesc<[64, 64], bf16>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %s = tlx.async_dot %a, %a : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xf32>
      %done = tlx.async_dot_wait %s pending(0) : tensor<64x64xf32>
      %x = arith.truncf %done : tensor<64x64xf32> to tensor<64x64xbf16>
      tlx.local_store %x, %a : tensor<64x64xbf16>, !tlx.memdesc<[64, 64], bf16>
      tlx.fence_async_shared
    }
  }
}

// A factor in registers is read by ldmatrix, sixteen columns at a time, and lies as
// accumulators do; from a transposed view by its .trans form.
// CHECK-LABEL: llvm.func @loaded_matrices(
// CHECK-COUNT-4: nvvm.ldmatrix %{{.+}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
// CHECK-NOT:     nvvm.ldmatrix
// CHECK:         nvvm.wgmma.commit.group.sync.aligned
// CHECK-COUNT-4: nvvm.ldmatrix %{{.+}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>
// CHECK-NOT:     nvvm.ldmatrix
// CHECK:         nvvm.wgmma.commit.group.sync.aligned
tlx.kernel @loaded_matrices() {
  %a = tlx.local_alloc at 0 : !tlx.memdesc<[64, 64], bf16>
  %t = tlx.local_trans %a : !tlx.memdesc<[64, 64], bf16> -> !tlx.memdesc<[64, 64], bf16, transposed>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %x = tlx.local_load %a : !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xbf16>
      %s = tlx.async_dot %x, %a : tensor<64x64xbf16>, !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xf32>
      %done = tlx.async_dot_wait %s pending(0) : tensor<64x64xf32>
      %y = tlx.local_load %t : !tlx.memdesc<[64, 64], bf16, transposed> -> tensor<64x64xbf16>
      %r = tlx.async_dot %y, %a, %done : tensor<64x64xbf16>, !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xf32>
      %end = tlx.async_dot_wait %r pending(0) : tensor<64x64xf32>
    }
  }
}

// Into a transposed view, .trans makes the columns of a matrix its lines.
// CHECK-LABEL: llvm.func @transposed_matrices(
// CHECK-COUNT-4: nvvm.stmatrix %{{.+}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>}
// CHECK-NOT:     nvvm.stmatrix
tlx.kernel @transposed_matrices() {
  %a = tlx.local_alloc at 0 : !tlx.memdesc<[64, 64], bf16>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %s = tlx.async_dot %a, %a : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xf32>
      %done = tlx.async_dot_wait %s pending(0) : tensor<64x64xf32>
      %x = arith.truncf %done : tensor<64x64xf32> to tensor<64x64xbf16>
      %t = tlx.local_trans %a : !tlx.memdesc<[64, 64], bf16> -> !tlx.memdesc<[64, 64], bf16, transposed>
      tlx.local_store %x, %t : tensor<64x64xbf16>, !tlx.memdesc<[64, 64], bf16, transposed>
    }
  }
}

// An accumulator in a transposed buffer: no thread's first address has the bits that
// lead to the next line (128 bytes, of which the swizzle makes 144) or to the other half
// (32 bytes), so that flips of it do; all else is constants.
// CHECK-LABEL: llvm.func @transposed_accumulator(
// CHECK-DAG:     %[[LINE:.+]] = arith.constant 144 : i32
// CHECK-DAG:     %[[HALF:.+]] = arith.constant 32 : i32
// CHECK-DAG:     %[[BOTH:.+]] = arith.constant 176 : i32
// CHECK:         %[[FIRST:.+]] = arith.xori
// CHECK-DAG:     arith.xori %[[FIRST]], %[[LINE]]
// CHECK-DAG:     arith.xori %[[FIRST]], %[[HALF]]
// CHECK-DAG:     arith.xori %[[FIRST]], %[[BOTH]]
// CHECK-NOT:     arith.xori
// CHECK:         llvm.return
tlx.kernel @transposed_accumulator() {
  %a = tlx.local_alloc at 0 : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.local_alloc at 8192 : !tlx.memdesc<[64, 64], f32>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %s = tlx.async_dot %a, %a : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xf32>
      %done = tlx.async_dot_wait %s pending(0) : tensor<64x64xf32>
      %t = tlx.local_trans %b : !tlx.memdesc<[64, 64], f32> -> !tlx.memdesc<[64, 64], f32, transposed>
      tlx.local_store %done, %t : tensor<64x64xf32>, !tlx.memdesc<[64, 64], f32, transposed>
    }
  }
}

// Elements side by side move in vectors of up to 16 bytes.
// CHECK-LABEL: llvm.func @vectors(
// CHECK-COUNT-4: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK-NOT:     llvm.load
// CHECK-COUNT-4: llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// CHECK-NOT:     llvm.store
// CHECK:         llvm.return
tlx.kernel @vectors() {
  %b = tlx.local_alloc at 0 : !tlx.memdesc<[16, 32], f32>
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      %x = tlx.local_load %b : !tlx.memdesc<[16, 32], f32> -> tensor<16x32xf32>
      tlx.local_store %x, %b : tensor<16x32xf32>, !tlx.memdesc<[16, 32], f32>
    }
  }
}

// An accumulator by fragments: the thread's quads of registers lie 16 bytes times the
// threads apart, whatever the view is of, and are read back alike.
// CHECK-LABEL: llvm.func @fragments(
// CHECK-DAG:     %[[BYTES:.+]] = arith.constant 16 : i32
// CHECK-DAG:     %[[SECOND:.+]] = arith.constant 2048 : i32
// CHECK:         %[[FIRST:.+]] = arith.muli %{{.+}}, %[[BYTES]]
// CHECK:         %[[BEGIN:.+]] = arith.addi %{{.+}}, %[[FIRST]]
// CHECK:         llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// CHECK:         arith.addi %[[BEGIN]], %[[SECOND]]
// CHECK-COUNT-7: llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// CHECK-NOT:     llvm.store
// CHECK-COUNT-8: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK-NOT:     llvm.load
// CHECK-COUNT-8: llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// CHECK-NOT:     llvm.store
// CHECK:         llvm.return
tlx.kernel @fragments() {
  %a = tlx.local_alloc at 0 : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.local_alloc at 8192 : !tlx.memdesc<[64, 64], f32>
  %c = tlx.local_alloc at 24576 : !tlx.memdesc<[64, 64], f32>
  tlx.async_tasks {
    tlx.async_task @t warps(4) {
      %s = tlx.async_dot %a, %a : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xf32>
      %done = tlx.async_dot_wait %s pending(0) : tensor<64x64xf32>
      tlx.local_store %done, %b fragments : tensor<64x64xf32>, !tlx.memdesc<[64, 64], f32>
      %again = tlx.local_load %b fragments : !tlx.memdesc<[64, 64], f32> -> tensor<64x64xf32>
      tlx.local_store %again, %c fragments : tensor<64x64xf32>, !tlx.memdesc<[64, 64], f32>
    }
  }
}
