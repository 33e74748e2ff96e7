// RUN: jfa-opt %s --convert-tlx-to-nvvm --canonicalize --cse --split-input-file | FileCheck %s
// RUN: jfa-opt %s --convert-tlx-to-nvvm --split-input-file --verify-diagnostics -o /dev/null

#pairs = #tlx.layout<threads = [32 : 0 * 2], registers = [2 : 0 * 1]>

// An op on a tile is one on each of a thread's elements. 16-bit floats are held
// in pairs, and made in pairs.
// CHECK-LABEL: llvm.func @ops(
// CHECK-SAME:    %[[P:.+]]: !llvm.ptr<1>, %[[Q:.+]]: !llvm.ptr<1>, %[[X:.+]]: f32)
tlx.kernel @ops(%p: !tlx.ptr<bf16>, %q: !tlx.ptr<f16>, %x: f32) {
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      %i = tlx.iota dim 0 : tensor<64xi32, #pairs>
      %c = arith.constant dense<2.0> : tensor<64xf32, #pairs>
      // CHECK-COUNT-2: arith.sitofp %{{.+}} : i32 to f32
      %f = arith.sitofp %i : tensor<64xi32, #pairs> to tensor<64xf32, #pairs>
      // CHECK-COUNT-2: arith.mulf %{{.+}}, %{{.+}} fastmath<contract> : f32
      %m = arith.mulf %f, %c fastmath<contract> : tensor<64xf32, #pairs>
      // CHECK-COUNT-2: "lg2.approx.ftz.f32 $0, $1;", "=f,f"
      %l = math.log2 %m fastmath<afn> : tensor<64xf32, #pairs>
      // CHECK-COUNT-2: math.exp2 %{{.+}} fastmath<afn> : f32
      %e = math.exp2 %l fastmath<afn> : tensor<64xf32, #pairs>
      // CHECK: nvvm.convert.f32x2.to.bf16x2 %[[HI:.+]], %[[LO:.+]] : vector<2xbf16>
      %b = arith.truncf %e : tensor<64xf32, #pairs> to tensor<64xbf16, #pairs>
      // A bf16 is the upper half of its f32.
      // CHECK: %[[PAIR:.+]] = llvm.bitcast %{{.+}} : vector<2xbf16> to i32
      // CHECK: arith.shli %[[PAIR]],
      // CHECK: arith.andi %[[PAIR]],
      // CHECK-NOT: arith.extf
      // CHECK-COUNT-2: arith.negf
      %w = arith.extf %b : tensor<64xbf16, #pairs> to tensor<64xf32, #pairs>
      %n = arith.negf %w : tensor<64xf32, #pairs>
      %wide = arith.truncf %n : tensor<64xf32, #pairs> to tensor<64xbf16, #pairs>
      tlx.global_store %wide, %p[%i] : tensor<64xbf16, #pairs>, !tlx.ptr<bf16>, tensor<64xi32, #pairs>
      // CHECK: nvvm.convert.f32x2.to.f16x2 %[[HI]], %[[LO]] : vector<2xf16>
      %h = arith.truncf %e : tensor<64xf32, #pairs> to tensor<64xf16, #pairs>
      // CHECK-COUNT-2: llvm.store %{{.+}} : bf16, !llvm.ptr<1>
      tlx.global_store %b, %p[%i] : tensor<64xbf16, #pairs>, !tlx.ptr<bf16>, tensor<64xi32, #pairs>
      // CHECK-COUNT-2: llvm.store %{{.+}} : f16, !llvm.ptr<1>
      tlx.global_store %h, %q[%i] : tensor<64xf16, #pairs>, !tlx.ptr<f16>, tensor<64xi32, #pairs>
    }
  }
}

// Tiles in control flow are their registers.
// CHECK-LABEL: llvm.func @flow(
// CHECK:         %[[R:.+]]:2 = scf.for {{.+}} iter_args(%{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}) -> (f32, f32)
// CHECK:           scf.yield %{{.+}}, %{{.+}} : f32, f32
// CHECK:         llvm.store %[[R]]#0
// CHECK:         llvm.store %[[R]]#1
tlx.kernel @flow(%p: !tlx.ptr<f32>, %x: f32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  tlx.async_tasks {
    tlx.async_task @t warps(1) {
      %i = tlx.iota dim 0 : tensor<64xi32, #pairs>
      %s = tlx.splat %x : f32 -> tensor<64xf32, #pairs>
      %f = arith.sitofp %i : tensor<64xi32, #pairs> to tensor<64xf32, #pairs>
      %r = scf.for %j = %c0 to %n step %c1 iter_args(%a = %s) -> (tensor<64xf32, #pairs>) : i32 {
        %b = arith.mulf %a, %f : tensor<64xf32, #pairs>
        scf.yield %b : tensor<64xf32, #pairs>
      }
      tlx.global_store %r, %p[%i] : tensor<64xf32, #pairs>, !tlx.ptr<f32>, tensor<64xi32, #pairs>
    }
  }
}
