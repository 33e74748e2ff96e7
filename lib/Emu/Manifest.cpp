//===- Manifest.cpp - Manifests of kernels -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jfa/Emu/Manifest.h"

#include "jfa/Emu/TensorMap.h"

#include "llvm/Support/JSON.h"

#include <cstring>

using namespace mlir::jfa;
using namespace mlir::jfa::emu;
namespace json = llvm::json;

/// Ragged dimensions end at this element of a map whose base is moved down by
/// as much (docs/Rationale.md).
static constexpr uint64_t kSegmentBound = uint64_t(1) << 30;

bool emu::parseElement(llvm::StringRef name, sim::ElementKind &kind) {
  static const std::pair<const char *, sim::ElementKind> kKinds[] = {
      {"f32", sim::ElementKind::F32},       {"bf16", sim::ElementKind::BF16},
      {"f16", sim::ElementKind::F16},       {"i1", sim::ElementKind::I1},
      {"i8", sim::ElementKind::I8},         {"i16", sim::ElementKind::I16},
      {"i32", sim::ElementKind::I32},       {"i64", sim::ElementKind::I64},
      {"f8E4M3FN", sim::ElementKind::E4M3}, {"f8E5M2", sim::ElementKind::E5M2}};
  for (auto [known, value] : kKinds) {
    if (name == known) {
      kind = value;
      return true;
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static std::string parseDimensions(const json::Array &list,
                                   ManifestArgument &argument) {
  for (const json::Value &entry : list) {
    const json::Object *object = entry.getAsObject();
    if (!object) {
      return "expected objects in 'dims'";
    }
    ManifestDimension &dimension = argument.dimensions.emplace_back();
    dimension.axis = object->getInteger("axis").value_or(-1);
    dimension.step = object->getInteger("step").value_or(1);
    dimension.box = object->getInteger("box").value_or(0);
    dimension.extent = object->getString("extent").value_or("").str();
    dimension.fixedExtent = object->getInteger("extent").value_or(0);
    if (dimension.axis < 0 || dimension.axis > 4 || dimension.box < 1 ||
        dimension.box > 256 || dimension.step < 1) {
      return "expected 'axis', 'step' and a 'box' from 1 to 256 in 'dims'";
    }
  }
  return argument.dimensions.size() <= 5 ? "" : "expected at most 5 'dims'";
}

static std::string parseArgument(const json::Object &object,
                                 ManifestArgument &argument) {
  argument.name = object.getString("name").value_or("").str();
  argument.offset = uint64_t(object.getInteger("offset").value_or(0));
  argument.size = uint64_t(object.getInteger("size").value_or(0));
  llvm::StringRef kind = object.getString("kind").value_or("");
  argument.kind = kind == "tensormap" ? sim::ArgumentKind::TensorMap
                  : kind == "pointer" ? sim::ArgumentKind::Pointer
                                      : sim::ArgumentKind::Scalar;
  bool isScalar = argument.kind == sim::ArgumentKind::Scalar;
  llvm::StringRef element =
      object.getString(isScalar ? "type" : "element").value_or("f32");
  if (!parseElement(element, argument.element)) {
    return "expected the element type of '" + argument.name + "', but got '" +
           element.str() + "'";
  }
  if (argument.offset > 32764 || argument.size > 128) {
    return "expected '" + argument.name + "' inside of the parameters";
  }
  argument.swizzleBytes = object.getInteger("swizzle_bytes").value_or(0);
  if (const json::Array *tile = object.getArray("tile")) {
    for (const json::Value &extent : *tile) {
      argument.tile.push_back(extent.getAsInteger().value_or(0));
    }
  }
  const json::Array *dimensions = object.getArray("dims");
  return dimensions ? parseDimensions(*dimensions, argument) : "";
}

static void parseExtents(const json::Object &object, llvm::StringRef name,
                         std::array<uint32_t, 3> &extents) {
  const json::Array *list = object.getArray(name);
  for (size_t i = 0; list && i < std::min<size_t>(3, list->size()); ++i) {
    extents[i] = uint32_t((*list)[i].getAsInteger().value_or(1));
  }
}

std::string emu::parseManifest(llvm::StringRef text, llvm::StringRef entry,
                               Manifest &manifest) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value) {
    return "expected a manifest: " + llvm::toString(value.takeError());
  }
  const json::Object *root = value->getAsObject();
  const json::Array *kernels = root ? root->getArray("kernels") : nullptr;
  if (!kernels || root->getInteger("schema").value_or(0) != 1) {
    return "expected a manifest of schema 1 with 'kernels'";
  }
  for (const json::Value &kernel : *kernels) {
    const json::Object *object = kernel.getAsObject();
    if (!object ||
        (!entry.empty() && object->getString("entry").value_or("") != entry)) {
      continue;
    }
    manifest.entry = object->getString("entry").value_or("").str();
    parseExtents(*object, "block", manifest.shape.block);
    parseExtents(*object, "cluster", manifest.shape.cluster);
    manifest.shape.dynamicShared =
        uint64_t(object->getInteger("shared_memory_bytes").value_or(0));
    manifest.shape.registersPerThread =
        uint32_t(object->getInteger("registers").value_or(0));
    if (const json::Object *parameters = object->getObject("parameters")) {
      manifest.isCausal = parameters->getBoolean("CAUSAL").value_or(false);
      manifest.isDynamic = parameters->getBoolean("DYNAMIC").value_or(false);
      manifest.isDeterministic =
          parameters->getBoolean("DETERMINISTIC").value_or(false) ||
          parameters->getBoolean("COPIES").value_or(false);
      manifest.hasFragments =
          parameters->getBoolean("FRAGMENTS").value_or(false);
      manifest.headDim = parameters->getInteger("HEAD_DIM").value_or(0);
      manifest.rotatesInputs =
          parameters->getBoolean("ROTATE_INPUTS").value_or(false);
      manifest.rotary = parameters->getInteger("ROTARY").value_or(0);
    }
    const json::Array *arguments = object->getArray("arguments");
    for (size_t i = 0; arguments && i < arguments->size(); ++i) {
      const json::Object *argument = (*arguments)[i].getAsObject();
      if (!argument) {
        return "expected objects in 'arguments'";
      }
      std::string error =
          parseArgument(*argument, manifest.arguments.emplace_back());
      if (!error.empty()) {
        return error;
      }
    }
    return "";
  }
  return "expected the kernel '" + entry.str() + "' in the manifest";
}

Manifest emu::makeManifest(const Code &code) {
  Manifest manifest;
  const Function &function = *code.function;
  manifest.entry = function.name;
  for (unsigned i = 0; i < 3; ++i) {
    manifest.shape.block[i] = std::max(1u, function.threads[i]);
    manifest.shape.cluster[i] = std::max(1u, function.cluster[i]);
  }
  for (const Variable &parameter : function.parameters) {
    ManifestArgument &argument = manifest.arguments.emplace_back();
    argument.name = parameter.name;
    argument.offset = parameter.offset;
    argument.size = parameter.size;
    bool isPointer = parameter.size == 8 && !parameter.type.isFloat();
    argument.kind =
        isPointer ? sim::ArgumentKind::Pointer : sim::ArgumentKind::Scalar;
    argument.element = parameter.type.isFloat() ? sim::ElementKind::F32
                       : parameter.size == 8    ? sim::ElementKind::I64
                                                : sim::ElementKind::I32;
  }
  return manifest;
}

sim::Program emu::makeProgram(const Manifest &manifest) {
  sim::Program program;
  program.name = manifest.entry;
  program.clusterSize = manifest.shape.cluster[0];
  program.asksForClusters = manifest.isDynamic;
  for (const ManifestArgument &from : manifest.arguments) {
    sim::Argument argument;
    argument.name = from.name;
    argument.kind = from.kind;
    argument.element = from.element;
    argument.slot = program.numSlots++;
    argument.box = from.tile;
    argument.isOutput = from.name == "o" || from.name == "lse";
    program.arguments.push_back(std::move(argument));
  }
  return program;
}

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

/// As the runtime encodes it (lib/Runtime/TensorMaps.cpp).
static std::string makeTensorMap(const ManifestArgument &argument,
                                 const sim::GlobalArray &array,
                                 uint64_t address, TensorMap &map) {
  auto bytes = uint64_t(sim::getBytes(array.kind));
  map.base = address;
  map.rank = uint8_t(argument.dimensions.size());
  map.elementBytes = uint8_t(bytes);
  map.element = uint8_t(array.kind);
  map.swizzle = uint8_t(argument.swizzleBytes == 32    ? 1
                        : argument.swizzleBytes == 64  ? 2
                        : argument.swizzleBytes == 128 ? 3
                                                       : 0);
  for (unsigned i = 0; i < map.rank; ++i) {
    const ManifestDimension &dimension = argument.dimensions[i];
    auto axis = size_t(dimension.axis);
    if (axis >= array.shape.size()) {
      return "expected '" + argument.name + "' to have " +
             std::to_string(axis + 1) + " axes";
    }
    auto size = uint64_t(array.shape[axis]), step = uint64_t(dimension.step);
    uint64_t stride = bytes * step;
    for (size_t inner = axis + 1; inner < array.shape.size(); ++inner) {
      stride *= uint64_t(array.shape[inner]);
    }
    map.box[i] = uint16_t(dimension.box);
    map.extents[i] = dimension.extent == "axis"
                         ? std::max<uint64_t>(1, (size + step - 1) / step)
                     : dimension.extent == "segment" ? kSegmentBound
                     : dimension.extent == "position"
                         ? size + 1
                         : uint64_t(dimension.fixedExtent);
    if (i > 0) {
      map.strides[i - 1] = stride;
    }
    if (i > 0 && stride % 16 != 0) {
      return "expected '" + argument.name +
             "' to have strides that are multiples of 16 bytes";
    }
    if (dimension.extent == "segment") {
      map.base -= kSegmentBound * stride;
    }
  }
  uint64_t row = uint64_t(map.box[0]) * bytes;
  if (map.rank == 0 || row % 16 != 0 || row > map.getPitch()) {
    return "expected '" + argument.name +
           "' to have rows of 16 bytes or a multiple, up to its swizzle";
  }
  return "";
}

static uint64_t encodeScalar(const ManifestArgument &argument,
                             const sim::Value &value) {
  uint8_t bytes[8] = {};
  if (sim::isReal(argument.element)) {
    sim::encode(argument.element, value.real, bytes);
  } else {
    sim::encode(argument.element, value.integer, bytes);
  }
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, 8);
  return bits;
}

std::string emu::bindArguments(const Manifest &manifest,
                               std::vector<sim::GlobalArray> &arrays,
                               const std::vector<sim::Value> &values,
                               GlobalMemory &global,
                               std::vector<uint8_t> &parameters) {
  std::vector<uint64_t> addresses;
  for (sim::GlobalArray &array : arrays) {
    addresses.push_back(global.add(array));
  }
  for (size_t i = 0; i < manifest.arguments.size(); ++i) {
    const ManifestArgument &argument = manifest.arguments[i];
    uint64_t bits = 0;
    if (argument.offset + std::max<uint64_t>(argument.size, 8) >
        parameters.size()) {
      parameters.resize(argument.offset + std::max<uint64_t>(argument.size, 8));
    }
    uint8_t *to = parameters.data() + argument.offset;
    if (argument.kind == sim::ArgumentKind::Scalar) {
      bits = encodeScalar(argument, values[i]);
    } else {
      bits = addresses[size_t(values[i].integer)];
    }
    if (argument.kind == sim::ArgumentKind::TensorMap) {
      TensorMap map;
      std::string error =
          makeTensorMap(argument, arrays[size_t(values[i].integer)], bits, map);
      if (!error.empty()) {
        return error;
      }
      std::memcpy(to, &map, sizeof(map));
      continue;
    }
    std::memcpy(to, &bits, std::min<uint64_t>(argument.size, 8));
  }
  return "";
}
