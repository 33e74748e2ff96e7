//===- Bundle.cpp - Bundles of compiled kernels -----------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bundle.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

using namespace jfa::runtime;
using nlohmann::json;

// Errors inside of this file travel as exceptions, as the JSON library's do;
// readBundle() turns both into a status.
namespace {
struct FormatError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename... Ts>
[[noreturn]] void fail(const Ts &...parts) {
  throw FormatError(concat(parts...));
}
} // namespace

static const json &getField(const json &object, const char *name) {
  if (!object.is_object()) {
    fail("expected an object with '", name, "', but got ", object.type_name());
  }
  auto it = object.find(name);
  if (it == object.end()) {
    fail("expected '", name, "', but it is missing");
  }
  return *it;
}

static std::string getString(const json &object, const char *name) {
  const json &value = getField(object, name);
  if (!value.is_string()) {
    fail("expected '", name, "' to be a string, but got ", value.type_name());
  }
  return value.get<std::string>();
}

static int64_t toInteger(const json &value, const char *name, int64_t low,
                         int64_t high) {
  if (!value.is_number_integer()) {
    fail("expected '", name, "' to be an integer, but got ", value.dump());
  }
  bool tooLarge = value.is_number_unsigned() &&
                  value.get<uint64_t>() > static_cast<uint64_t>(high);
  if (tooLarge || value.get<int64_t>() < low || value.get<int64_t>() > high) {
    fail("expected '", name, "' to be in ", low, " .. ", high, ", but got ",
         value.dump());
  }
  return value.get<int64_t>();
}

static int64_t getInteger(const json &object, const char *name, int64_t low,
                          int64_t high = std::numeric_limits<int32_t>::max()) {
  return toInteger(getField(object, name), name, low, high);
}

static const json &getArray(const json &object, const char *name) {
  const json &value = getField(object, name);
  if (!value.is_array()) {
    fail("expected '", name, "' to be an array, but got ", value.type_name());
  }
  return value;
}

static std::array<int32_t, 3> getTriple(const json &object, const char *name) {
  const json &value = getArray(object, name);
  if (value.size() != 3) {
    fail("expected '", name, "' to have 3 numbers, but got ", value.size());
  }
  std::array<int32_t, 3> result;
  for (size_t i = 0; i < 3; ++i) {
    result[i] = static_cast<int32_t>(toInteger(value[i], name, 1, 65535));
  }
  return result;
}

static ElementType toElementType(const std::string &text) {
  static const std::map<std::string, ElementType> types = {
      {"bf16", ElementType::BF16}, {"f16", ElementType::F16},
      {"f32", ElementType::F32},   {"i32", ElementType::I32},
      {"i64", ElementType::I64},
  };
  auto it = types.find(text);
  if (it == types.end()) {
    fail("expected an element type of bf16, f16, f32, i32 or i64, but got '",
         text, "'");
  }
  return it->second;
}

static TensorMapDimension toDimension(const json &object) {
  TensorMapDimension result{};
  result.axis = static_cast<int>(getInteger(object, "axis", 0, 2));
  result.step = getInteger(object, "step", 1);
  result.box = static_cast<uint32_t>(getInteger(object, "box", 1, 256));
  const json &extent = getField(object, "extent");
  if (extent == "axis") {
    result.extent = Extent::Axis;
  } else if (extent == "segment") {
    result.extent = Extent::Segment;
  } else if (extent == "position") {
    result.extent = Extent::Position;
  } else {
    result.extent = Extent::Fixed;
    result.fixedExtent =
        static_cast<uint64_t>(toInteger(extent, "extent", 1, int64_t(1) << 32));
  }
  return result;
}

static TensorMapRecipe toRecipe(const json &object) {
  TensorMapRecipe result{};
  for (const json &dimension : getArray(object, "dims")) {
    result.dimensions.push_back(toDimension(dimension));
  }
  size_t rank = result.dimensions.size();
  if (rank < 1 || rank > 5) {
    fail("expected 'dims' to have 1 to 5 entries, but got ", rank);
  }
  const TensorMapDimension &inner = result.dimensions.front();
  int last = 0;
  for (const TensorMapDimension &dimension : result.dimensions) {
    last = std::max(last, dimension.axis);
  }
  if (last == 0 || inner.axis != last || inner.step != 1) {
    fail("expected the first of 'dims' to walk the last of two or three axes "
         "in steps of 1");
  }
  result.swizzleBytes =
      static_cast<int>(getInteger(object, "swizzle_bytes", 0, 128));
  int swizzle = result.swizzleBytes;
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128) {
    fail("expected 'swizzle_bytes' to be 0, 32, 64 or 128, but got ", swizzle);
  }
  const json &ragged = getField(object, "ragged");
  if (!ragged.is_boolean()) {
    fail("expected 'ragged' to be true or false, but got ", ragged.dump());
  }
  result.ragged = ragged.get<bool>();
  int segments = 0;
  int positions = 0;
  for (const TensorMapDimension &dimension : result.dimensions) {
    segments += dimension.extent == Extent::Segment;
    positions += dimension.extent == Extent::Position;
    if (dimension.extent >= Extent::Segment &&
        (dimension.axis != 0 || dimension.step != 1)) {
      fail("expected a segment or position to walk axis 0 in steps of 1");
    }
  }
  int wanted = result.ragged ? 1 : 0;
  if (segments != wanted || positions != wanted) {
    fail("expected ", wanted, " segment and ", wanted,
         " position in 'dims', but got ", segments, " and ", positions);
  }
  return result;
}

static Argument toArgument(const json &object) {
  Argument result{};
  result.name = getString(object, "name");
  std::string kind = getString(object, "kind");
  result.size = static_cast<size_t>(getInteger(object, "size", 1, 4096));
  result.offset = static_cast<size_t>(getInteger(object, "offset", 0, 32764));
  size_t expected = 8;
  if (kind == "tensormap") {
    result.kind = ArgumentKind::TensorMap;
    result.element = toElementType(getString(object, "element"));
    result.recipe = toRecipe(object);
    expected = 128;
    if (result.element > ElementType::F32) {
      fail("expected the tensor map '", result.name,
           "' to be bf16, f16 or f32");
    }
  } else if (kind == "pointer") {
    result.kind = ArgumentKind::Pointer;
    result.element = toElementType(getString(object, "element"));
  } else if (kind == "scalar") {
    result.kind = ArgumentKind::Scalar;
    result.element = toElementType(getString(object, "type"));
    if (result.element < ElementType::F32) {
      fail("expected the scalar '", result.name, "' to be f32, i32 or i64");
    }
    expected = result.element == ElementType::I64 ? 8 : 4;
  } else {
    fail("expected 'kind' to be tensormap, pointer or scalar, but got '", kind,
         "'");
  }
  if (result.size != expected) {
    fail("expected the argument '", result.name, "' to have ", expected,
         " bytes, but got ", result.size);
  }
  return result;
}

static void readCode(const json &object, const uint8_t *blobs, size_t blobBytes,
                     Manifest &manifest) {
  const json &cubin = getField(object, "cubin");
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  auto offset = static_cast<uint64_t>(getInteger(cubin, "offset", 0, kMax));
  auto size = static_cast<uint64_t>(getInteger(cubin, "size", 4, kMax));
  if (offset > blobBytes || size > blobBytes - offset) {
    fail("expected the code at ", offset, " with ", size,
         " bytes to lie within ", blobBytes, " bytes");
  }
  if (offset % 16 != 0) {
    fail("expected the code's offset to be a multiple of 16, but got ", offset);
  }
  if (std::memcmp(blobs + offset,
                  "\x7f"
                  "ELF",
                  4) != 0) {
    fail("expected the code to be an ELF file");
  }
  manifest.cubin = blobs + offset;
  manifest.cubinBytes = size;
}

static Manifest toManifest(const json &object, const uint8_t *blobs,
                           size_t blobBytes) {
  Manifest result{};
  getInteger(object, "schema", 1, 1);
  result.entry = getString(object, "entry");
  result.arch = getString(object, "arch");
  const json &parameters = getField(object, "parameters");
  if (!parameters.is_object()) {
    fail("expected 'parameters' to be an object");
  }
  for (const auto &[name, value] : parameters.items()) {
    result.parameters[name] =
        value.is_string() ? value.get<std::string>() : value.dump();
  }
  result.block = getTriple(object, "block");
  result.cluster = getTriple(object, "cluster");
  auto count = [&](const char *name) {
    return static_cast<int32_t>(getInteger(object, name, 0));
  };
  result.sharedMemoryBytes = count("shared_memory_bytes");
  result.registers = count("registers");
  result.spillStoreBytes = count("spill_store_bytes");
  result.spillLoadBytes = count("spill_load_bytes");
  result.stackBytes = count("stack_bytes");
  for (const json &argument : getArray(object, "arguments")) {
    result.arguments.push_back(toArgument(argument));
  }
  const json &compiler = getField(object, "compiler");
  result.llvmVersion = getString(compiler, "llvm");
  result.ptxasVersion = getString(compiler, "ptxas");
  readCode(object, blobs, blobBytes, result);
  return result;
}

template <typename T>
static T readLittleEndian(const uint8_t *bytes) {
  T result = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    result |= static_cast<T>(bytes[i]) << (8 * i);
  }
  return result;
}

static void parseBundle(const uint8_t *data, size_t size,
                        std::vector<Manifest> &manifests) {
  constexpr size_t kPrefix = 24;
  if (size < kPrefix || std::memcmp(data, "JFABUNDL", 8) != 0) {
    fail("expected a file that begins with JFABUNDL");
  }
  auto version = readLittleEndian<uint32_t>(data + 8);
  if (version != 1) {
    fail("expected version 1, but got ", version);
  }
  auto headerBytes = readLittleEndian<uint64_t>(data + 16);
  if (headerBytes > size - kPrefix) {
    fail("expected a header of ", headerBytes, " bytes, but ", size - kPrefix,
         " are left");
  }
  const uint8_t *text = data + kPrefix;
  json header = json::parse(text, text + headerBytes);
  getInteger(header, "schema", 1, 1);
  size_t blobStart = (kPrefix + headerBytes + 15) / 16 * 16;
  // A bundle without kernels may lack the padding.
  size_t blobBytes = blobStart < size ? size - blobStart : 0;
  const uint8_t *blobs = blobBytes ? data + blobStart : data;
  size_t index = 0;
  for (const json &kernel : getArray(header, "kernels")) {
    try {
      manifests.push_back(toManifest(kernel, blobs, blobBytes));
    } catch (const FormatError &error) {
      fail("kernel ", index, ": ", error.what());
    }
    ++index;
  }
}

Status jfa::runtime::readBundle(const uint8_t *data, size_t size,
                                std::vector<Manifest> &manifests) {
  std::vector<Manifest> result;
  try {
    parseBundle(data, size, result);
  } catch (const std::exception &error) {
    return failure(JFA_STATUS_INVALID_BUNDLE, error.what());
  }
  manifests = std::move(result);
  return success();
}

int64_t Manifest::getInteger(const std::string &name, int64_t otherwise) const {
  auto it = parameters.find(name);
  if (it == parameters.end() || it->second.empty() || it->second.size() > 18 ||
      it->second.find_first_not_of("0123456789") != std::string::npos) {
    return otherwise;
  }
  return std::stoll(it->second);
}

std::string Manifest::getParameter(const std::string &name,
                                   const std::string &otherwise) const {
  auto it = parameters.find(name);
  return it == parameters.end() ? otherwise : it->second;
}
