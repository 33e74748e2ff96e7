//===- Bundle.cpp - Several kernels in one file -----------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the bundle that the runtime loads: a fixed prefix, a JSON header and
// the cubins. Numbers are little-endian whatever the host.
//
//===----------------------------------------------------------------------===//

#include "jfa/Target/PTX/Manifest.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/EndianStream.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::jfa;
namespace json = llvm::json;

/// Of the blobs and of the area that holds them.
static constexpr uint64_t blobAlignment = 16;

unsigned BundleBuilder::addCubin(std::string cubin) {
  cubins.push_back(std::move(cubin));
  return cubins.size() - 1;
}

void BundleBuilder::addKernel(json::Object manifest, unsigned cubin) {
  assert(cubin < cubins.size() && "the cubin has to be added first");
  kernels.emplace_back(std::move(manifest), cubin);
}

SmallVector<uint64_t> BundleBuilder::layOut() const {
  SmallVector<uint64_t> offsets = {0};
  for (const std::string &cubin : cubins) {
    offsets.push_back(
        llvm::alignTo(offsets.back() + cubin.size(), blobAlignment));
  }
  return offsets;
}

json::Value BundleBuilder::getHeader() const {
  SmallVector<uint64_t> offsets = layOut();
  json::Array array;
  for (const auto &[manifest, cubin] : kernels) {
    json::Object object = manifest;
    object["cubin"] = json::Object{{"offset", offsets[cubin]},
                                   {"size", cubins[cubin].size()}};
    array.push_back(std::move(object));
  }
  return json::Object{{"schema", manifestSchema},
                      {"kernels", std::move(array)}};
}

std::string BundleBuilder::getManifest() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  json::OStream(os, /*IndentSize=*/2).value(getHeader());
  os << '\n';
  return text;
}

std::string BundleBuilder::getBundle() const {
  std::string header;
  llvm::raw_string_ostream(header) << getHeader();
  std::string bundle;
  llvm::raw_string_ostream os(bundle);
  llvm::support::endian::Writer writer(os, llvm::endianness::little);
  os << "JFABUNDL";
  writer.write<uint32_t>(bundleVersion);
  writer.write<uint32_t>(0);
  writer.write<uint64_t>(header.size());
  os << header;
  os.write_zeros(
      llvm::offsetToAlignment(os.tell(), llvm::Align(blobAlignment)));
  for (const std::string &cubin : cubins) {
    os << cubin;
    os.write_zeros(
        llvm::offsetToAlignment(cubin.size(), llvm::Align(blobAlignment)));
  }
  return bundle;
}
