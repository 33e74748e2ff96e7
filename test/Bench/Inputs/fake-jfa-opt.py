#!/usr/bin/env python3
"""Writes a manifest as jfa-opt would; refuses BLOCK_N=512."""

import json
import sys

words = sys.argv[1:]
if any("BLOCK_N=512" in word for word in words):
    print("fwd.mlir:1:2: error: expected 'BLOCK_N' to be legal, but got 512")
    sys.exit(1)
output = words[words.index("-o") + 1]
with open(output, "w", encoding="utf-8") as file:
    file.write(" ".join(words))
with open(output.replace(".jfab", ".json"), "w", encoding="utf-8") as file:
    json.dump({"kernels": [{"registers": 168, "shared_memory_bytes": 1024,
                            "spill_store_bytes": 0, "spill_load_bytes": 0}]},
              file)
