// The manifest of a kernel with everything that the lowering leaves on it, and
// of one with nothing. A real ptxas says the rest.

// REQUIRES: ptxas
// RUN: jfa-opt %s --arch=sm_90a -D HEAD_DIM=128 -DCAUSAL=false -D ELEMENT=bf16 -o %t.cubin --manifest=%t.json
// RUN: FileCheck %s --input-file=%t.json

// CHECK:      "kernels": [
// CHECK-NEXT:   {
// CHECK-NEXT:     "arch": "sm_90a",
// CHECK-NEXT:     "arguments": [
// CHECK-NEXT:       {
// CHECK-NEXT:         "dims": [
// CHECK-NEXT:           {
// CHECK-NEXT:             "axis": 2,
// CHECK-NEXT:             "box": 64,
// CHECK-NEXT:             "extent": 64,
// CHECK-NEXT:             "step": 1
// CHECK-NEXT:           },
// CHECK-NEXT:           {
// CHECK-NEXT:             "axis": 0,
// CHECK-NEXT:             "box": 64,
// CHECK-NEXT:             "extent": "segment",
// CHECK-NEXT:             "step": 1
// CHECK-NEXT:           }
// CHECK-NEXT:         ],
// CHECK-NEXT:         "element": "bf16",
// CHECK-NEXT:         "kind": "tensormap",
// CHECK-NEXT:         "name": "q",
// CHECK-NEXT:         "offset": 0,
// CHECK-NEXT:         "ragged": true,
// CHECK-NEXT:         "size": 128,
// CHECK-NEXT:         "swizzle_bytes": 128,
// CHECK-NEXT:         "tile": [
// CHECK-NEXT:           64,
// CHECK-NEXT:           1,
// CHECK-NEXT:           128
// CHECK-NEXT:         ]
// CHECK-NEXT:       },
// CHECK-NEXT:       {
// CHECK-NEXT:         "kind": "scalar",
// CHECK-NEXT:         "name": "num_tiles",
// CHECK-NEXT:         "offset": 128,
// CHECK-NEXT:         "size": 4,
// CHECK-NEXT:         "type": "i32"
// CHECK-NEXT:       },
// CHECK-NEXT:       {
// CHECK-NEXT:         "element": "f32",
// CHECK-NEXT:         "kind": "pointer",
// CHECK-NEXT:         "name": "lse",
// CHECK-NEXT:         "offset": 136,
// CHECK-NEXT:         "size": 8
// CHECK-NEXT:       }
// CHECK-NEXT:     ],
// CHECK-NEXT:     "block": [
// CHECK-NEXT:       384,
// CHECK-NEXT:       1,
// CHECK-NEXT:       1
// CHECK-NEXT:     ],
// CHECK-NEXT:     "cluster": [
// CHECK-NEXT:       2,
// CHECK-NEXT:       1,
// CHECK-NEXT:       1
// CHECK-NEXT:     ],
// CHECK-NEXT:     "compiler": {
// CHECK-NEXT:       "jfa": "{{[0-9]+\.[0-9]+\.[0-9]+}}",
// CHECK-NEXT:       "llvm": "22.1.{{[0-9]+}}",
// CHECK-NEXT:       "ptxas": "{{[0-9]+\.[0-9]+\.[0-9]+}}"
// CHECK-NEXT:     },
// CHECK-NEXT:     "cubin": {
// CHECK-NEXT:       "offset": 0,
// CHECK-NEXT:       "size": {{[0-9]+}}
// CHECK-NEXT:     },
// CHECK-NEXT:     "entry": "attention_fwd",
// CHECK-NEXT:     "parameters": {
// CHECK-NEXT:       "CAUSAL": false,
// CHECK-NEXT:       "ELEMENT": "bf16",
// CHECK-NEXT:       "HEAD_DIM": 128
// CHECK-NEXT:     },
// CHECK-NEXT:     "registers": {{[1-9][0-9]*}},
// CHECK-NEXT:     "schema": 1,
// CHECK-NEXT:     "shared_memory_bytes": 1024,
// CHECK-NEXT:     "spill_load_bytes": 0,
// CHECK-NEXT:     "spill_store_bytes": 0,
// CHECK-NEXT:     "stack_bytes": 0
// CHECK-NEXT:   }
llvm.func @attention_fwd(%q: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
                         %num_tiles: i32, %lse: !llvm.ptr<1>)
    attributes {
      nvvm.kernel, nvvm.reqntid = array<i32: 384>, nvvm.cluster_dim = array<i32: 2, 1, 1>,
      tlx.shared_memory_bytes = 1024 : i64,
      tlx.parameters = {HEAD_DIM = 128 : i64, CAUSAL = false, ELEMENT = "bf16"},
      tlx.arguments = [
        {name = "q", kind = "tensormap", element = "bf16", swizzle_bytes = 128 : i64,
         tile = array<i64: 64, 1, 128>, ragged = true,
         dims = [{axis = 2 : i64, step = 1 : i64, box = 64 : i64, extent = 64 : i64},
                 {axis = 0 : i64, step = 1 : i64, box = 64 : i64, extent = "segment"}]},
        {name = "num_tiles", kind = "scalar", type = "i32"},
        {name = "lse", kind = "pointer", element = "f32"}]} {
  llvm.store %num_tiles, %lse : i32, !llvm.ptr<1>
  llvm.return
}
