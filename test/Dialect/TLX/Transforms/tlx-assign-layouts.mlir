// RUN: jfa-opt %s --tlx-assign-layouts | FileCheck %s
// RUN: jfa-opt %s --tlx-assign-layouts --remarks-filter=layout \
// RUN:     --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: jfa-opt %s --tlx-assign-layouts --tlx-verify-layouts --tlx-assign-layouts \
// RUN:     | FileCheck %s

// CHECK-DAG: #[[PAIRS:.+]] = #tlx.layout<threads = [32 : 0 * 2], registers = [2 : 0 * 1]>
// CHECK-DAG: #[[ACC:.+]] = #tlx.layout<threads = [4 : 1 * 2, 8 : 0 * 1, 4 : 0 * 16], registers = [2 : 1 * 1, 2 : 0 * 8, 8 : 1 * 8]>
// CHECK-DAG: #[[ROW:.+]] = #tlx.layout<threads = [4 : *, 8 : 0 * 1, 4 : 0 * 16], registers = [2 : 0 * 8]>
// CHECK-DAG: #[[PART:.+]] = #tlx.layout<threads = [4 : 1 * 1, 8 : 0 * 1, 4 : 0 * 16], registers = [2 : 0 * 8]>
// CHECK-DAG: #[[COLUMN:.+]] = #tlx.layout<threads = [4 : 0 * 2, 8 : *, 4 : *], registers = [2 : 0 * 1, 8 : 0 * 8]>

// Tiles that nothing constrains: neighbours hold neighbours.
// CHECK-LABEL: @default
tlx.kernel @default(%in: !tlx.ptr<f32>, %out: !tlx.ptr<f32>) {
  tlx.async_tasks {
    tlx.async_task @copy warps(1) {
      // CHECK: %[[I:.+]] = tlx.iota dim 0 : tensor<64xi32, #[[PAIRS]]>
      %i = tlx.iota dim 0 : tensor<64xi32>
      // CHECK: %[[X:.+]] = tlx.global_load {{.+}} -> tensor<64xf32, #[[PAIRS]]>
      %x = tlx.global_load %in[%i] : !tlx.ptr<f32>, tensor<64xi32> -> tensor<64xf32>
      // CHECK: tlx.global_store %[[X]], {{.+}} : tensor<64xf32, #[[PAIRS]]>
      tlx.global_store %x, %out[%i] : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32>
    }
  }
}

// Layouts flow from the accumulator forwards through reductions, backwards
// through broadcasts, and around the loop.
// CHECK-LABEL: @softmax
tlx.kernel @softmax(%out: !tlx.ptr<f32>, %n: i32, %scale: f32) {
  %q = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %k = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  tlx.async_tasks {
    tlx.async_task @compute warps(4) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      // CHECK: %[[SCALES:.+]] = tlx.splat {{.+}} -> tensor<64x64xf32, #[[ACC]]>
      %scales = tlx.splat %scale : f32 -> tensor<64x64xf32>
      // CHECK: arith.constant dense<0xFF800000> : tensor<64xf32, #[[ROW]]>
      %m0 = arith.constant dense<0xFF800000> : tensor<64xf32>
      // CHECK: arith.constant dense<0.000000e+00> : tensor<64x4xf32, #[[PART]]>
      %l0 = arith.constant dense<0.0> : tensor<64x4xf32>
      // CHECK: scf.for {{.+}} -> (tensor<64xf32, #[[ROW]]>, tensor<64x4xf32, #[[PART]]>)
      %m, %l = scf.for %j = %c0 to %n step %c1 iter_args(%m_in = %m0, %l_in = %l0)
          -> (tensor<64xf32>, tensor<64x4xf32>) : i32 {
        // CHECK: tlx.async_dot {{.+}} -> tensor<64x64xf32, #[[ACC]]>
        %pending = tlx.async_dot %q, %k : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xf32>
        // CHECK: %[[S:.+]] = tlx.async_dot_wait {{.+}} : tensor<64x64xf32, #[[ACC]]>
        %s = tlx.async_dot_wait %pending pending(0) : tensor<64x64xf32>
        %scaled = arith.mulf %s, %scales : tensor<64x64xf32>
        // CHECK: tlx.reduce max {{.+}} -> tensor<64xf32, #[[ROW]]>
        %block = tlx.reduce max %scaled dim 1 : tensor<64x64xf32> -> tensor<64xf32>
        %m_new = arith.maxnumf %m_in, %block : tensor<64xf32>
        // CHECK: tlx.expand_dims {{.+}} -> tensor<64x1xf32, #[[ROW]]>
        %m_c = tlx.expand_dims %m_new dim 1 : tensor<64xf32> -> tensor<64x1xf32>
        // CHECK: tlx.broadcast {{.+}} -> tensor<64x64xf32, #[[ACC]]>
        %m_b = tlx.broadcast %m_c : tensor<64x1xf32> -> tensor<64x64xf32>
        %e = arith.subf %scaled, %m_b : tensor<64x64xf32>
        // CHECK: tlx.partial_reduce add {{.+}} -> tensor<64x4xf32, #[[PART]]>
        %part = tlx.partial_reduce add %e dim 1 groups(4) run(2) : tensor<64x64xf32> -> tensor<64x4xf32>
        %l_new = arith.addf %l_in, %part : tensor<64x4xf32>
        scf.yield %m_new, %l_new : tensor<64xf32>, tensor<64x4xf32>
      }
      %sum = tlx.reduce add %l dim 1 : tensor<64x4xf32> -> tensor<64xf32>
      // CHECK: %[[R:.+]] = arith.addf {{.+}} : tensor<64xf32, #[[ROW]]>
      // CHECK-NOT: convert_layout
      %r = arith.addf %m, %sum : tensor<64xf32>
      %rows = tlx.iota dim 0 : tensor<64xi32>
      // CHECK: tlx.global_store %[[R]], {{.+}} : tensor<64xf32, #[[ROW]]>, !tlx.ptr<f32>, tensor<64xi32, #[[ROW]]>
      tlx.global_store %r, %out[%rows] : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32>
    }
  }
}

// What is needed in two layouts is made twice if that is free, otherwise moved.
// CHECK-LABEL: @two_layouts
tlx.kernel @two_layouts(%out: !tlx.ptr<f32>) {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  tlx.async_tasks {
    tlx.async_task @compute warps(4) {
      %pending = tlx.async_dot %a, %b : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xf32>
      %s = tlx.async_dot_wait %pending pending(0) : tensor<64x64xf32>
      %row = tlx.reduce max %s dim 1 : tensor<64x64xf32> -> tensor<64xf32>
      // CHECK: %[[COL:.+]] = tlx.reduce max {{.+}} dim 0 : {{.+}} -> tensor<64xf32, #[[COLUMN]]>
      // CHECK-NEXT: %[[MOVED:.+]] = tlx.convert_layout %[[COL]] : tensor<64xf32, #[[COLUMN]]> -> tensor<64xf32, #[[ROW]]>
      %col = tlx.reduce max %s dim 0 : tensor<64x64xf32> -> tensor<64xf32>
      // CHECK: arith.addf %{{.+}}, %[[MOVED]] : tensor<64xf32, #[[ROW]]>
      // REMARK: [[@LINE+1]]:{{.+}} remark: [Missed] convert_layout | Category:layout | Function=two_layouts | Remark="converting tensor<64xf32> for 'arith.addf' exchanges elements between the threads of each warp"
      %sum = arith.addf %row, %col : tensor<64xf32>
      // CHECK-DAG: %[[IROW:.+]] = tlx.iota dim 0 : tensor<64xi32, #[[ROW]]>
      // CHECK-DAG: %[[ICOL:.+]] = tlx.iota dim 0 : tensor<64xi32, #[[COLUMN]]>
      %i = tlx.iota dim 0 : tensor<64xi32>
      // CHECK: tlx.global_store %{{.+}}, %out[%[[IROW]]]
      tlx.global_store %sum, %out[%i] : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32>
      // CHECK: tlx.global_store %[[COL]], %out[%[[ICOL]]]
      tlx.global_store %col, %out[%i] : tensor<64xf32>, !tlx.ptr<f32>, tensor<64xi32>
    }
  }
}

// A shape change of a tile needed in two layouts is repeated; its small source
// is what moves, once, next to where it is made.
// CHECK-LABEL: @small_source_moves
tlx.kernel @small_source_moves(%in: !tlx.ptr<f32>, %n: i32) {
  %a = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
  %b = tlx.local_alloc : !tlx.memdesc<[64, 128], bf16>
  %t = tlx.local_alloc : !tlx.memdesc<[64, 64], f32>
  tlx.async_tasks {
    tlx.async_task @compute warps(4) {
      %i = tlx.iota dim 0 : tensor<64xi32>
      // CHECK: %[[X:.+]] = tlx.global_load
      // CHECK-NEXT: %[[MOVED:.+]] = tlx.convert_layout %[[X]] : tensor<64xf32, #{{.+}}> -> tensor<64xf32, #{{.+}}>
      // CHECK-NOT: convert_layout
      %x = tlx.global_load %in[%i] : !tlx.ptr<f32>, tensor<64xi32> -> tensor<64xf32>
      %x_r = tlx.expand_dims %x dim 0 : tensor<64xf32> -> tensor<1x64xf32>
      %x_b = tlx.broadcast %x_r : tensor<1x64xf32> -> tensor<64x64xf32>
      %x_c = tlx.expand_dims %x dim 1 : tensor<64xf32> -> tensor<64x1xf32>
      %x_d = tlx.broadcast %x_c : tensor<64x1xf32> -> tensor<64x64xf32>
      %pending = tlx.async_dot %a, %a, %x_b : !tlx.memdesc<[64, 64], bf16>, !tlx.memdesc<[64, 64], bf16> -> tensor<64x64xf32>
      %s = tlx.async_dot_wait %pending pending(0) : tensor<64x64xf32>
      %y = arith.addf %s, %x_d : tensor<64x64xf32>
      tlx.local_store %y, %t : tensor<64x64xf32>, !tlx.memdesc<[64, 64], f32>
    }
  }
}
