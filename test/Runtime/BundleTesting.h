//===- BundleTesting.h - Small bundles for tests ----------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TEST_RUNTIME_BUNDLETESTING_H
#define JFA_TEST_RUNTIME_BUNDLETESTING_H

#include <cstdint>
#include <string>

namespace jfa::testing {

inline const std::string kCode = std::string("\x7f"
                                             "ELF") +
                                 "code";

inline const std::string kHeader = R"({"schema":1,"kernels":[{
"schema":1,"entry":"attention_fwd","arch":"sm_90a",
"parameters":{"HEAD_DIM":128,"CAUSAL":false,"ELEMENT":"bf16","JAGGED":true,
"BROADCAST_QUERY":false,"BLOCK_M":128,"BLOCK_N":128},
"block":[384,1,1],"cluster":[1,1,1],"shared_memory_bytes":1024,
"registers":168,"spill_store_bytes":0,"spill_load_bytes":0,"stack_bytes":0,
"arguments":[{"name":"q","kind":"tensormap","size":128,"offset":0,
"element":"bf16","swizzle_bytes":128,"tile":[64,1,128],"ragged":true,"dims":[
{"axis":2,"step":1,"box":64,"extent":64},
{"axis":0,"step":1,"box":64,"extent":"segment"},
{"axis":2,"step":64,"box":2,"extent":2},
{"axis":1,"step":1,"box":1,"extent":"axis"},
{"axis":0,"step":1,"box":1,"extent":"position"}]},
{"name":"lse","kind":"pointer","element":"f32","size":8,"offset":128},
{"name":"k_length","kind":"scalar","type":"i32","size":4,"offset":136}],
"compiler":{"jfa":"0.1.0","llvm":"22.1.8","ptxas":"13.0.88"},
"cubin":{"offset":0,"size":8}}]})";

inline void appendLittleEndian(std::string &bytes, uint64_t value, int count) {
  for (int i = 0; i < count; ++i) {
    bytes.push_back(static_cast<char>(value >> (8 * i)));
  }
}

/// A bundle with one blob, kCode.
inline std::string makeBundle(const std::string &header, uint32_t version = 1) {
  std::string bytes = "JFABUNDL";
  appendLittleEndian(bytes, version, 4);
  appendLittleEndian(bytes, 0, 4);
  appendLittleEndian(bytes, header.size(), 8);
  bytes += header;
  bytes.resize((bytes.size() + 15) / 16 * 16, '\0');
  return bytes + kCode;
}

} // namespace jfa::testing

#endif // JFA_TEST_RUNTIME_BUNDLETESTING_H
