//===- Npy.cpp - Arrays in files -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Npy.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

using namespace mlir::jfa;
using namespace mlir::jfa::sim;

/// No array of a test is larger.

static bool parseShape(const std::string &text, char separator, Shape &shape) {
  std::istringstream stream(text);
  std::string extent;
  int64_t total = 1;
  while (std::getline(stream, extent, separator)) {
    extent.erase(0, extent.find_first_not_of(' '));
    if (extent.empty()) {
      continue; // "(3,)"
    }
    if (extent.size() > 10 ||
        extent.find_first_not_of("0123456789") != std::string::npos) {
      return false;
    }
    shape.push_back(std::stoll(extent));
    if (shape.back() > 0 && total > GlobalArray::kMaxElements / shape.back()) {
      return false;
    }
    total *= shape.back();
  }
  return !shape.empty();
}

static void fill(GlobalArray &array, const std::string &how, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < array.getNumElements(); ++i) {
    bool isIota = how == "iota", isRandom = how == "random";
    if (isReal(array.kind)) {
      encode(array.kind,
             isIota     ? float(i)
             : isRandom ? normal(random)
                        : 0.0f,
             array.at(i));
    } else {
      encode(array.kind,
             isIota     ? i
             : isRandom ? int64_t(random() % 100)
                        : 0,
             array.at(i));
    }
  }
  array.setAllWritten();
}

//===----------------------------------------------------------------------===//
// NumPy's format
//===----------------------------------------------------------------------===//

/// The text between `from` and `to` in `text`.
static std::string between(const std::string &text, const std::string &from,
                           char to) {
  size_t begin = text.find(from);
  if (begin == std::string::npos) {
    return "";
  }
  begin += from.size();
  return text.substr(begin, text.find(to, begin) - begin);
}

static std::string getDescription(ElementKind kind) {
  switch (kind) {
  case ElementKind::F16:
    return "<f2";
  case ElementKind::I1:
    return "|b1";
  case ElementKind::I8:
    return "|i1";
  case ElementKind::I16:
    return "<i2";
  case ElementKind::I32:
    return "<i4";
  case ElementKind::I64:
    return "<i8";
  default:
    return "<f4";
  }
}

static std::string readFile(const std::string &path, std::string &bytes) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream stream;
  stream << file.rdbuf();
  bytes = stream.str();
  if (!file || bytes.size() < 10 || bytes.compare(0, 6, "\x93NUMPY") != 0 ||
      bytes[6] != 1) {
    return "expected a file in version 1 of NumPy's format, but got '" + path +
           "'";
  }
  return "";
}

static std::string readArray(const std::string &path,
                             std::vector<GlobalArray> &arrays,
                             const std::string &name, ElementKind kind) {
  std::string bytes;
  if (std::string error = readFile(path, bytes); !error.empty()) {
    return error;
  }
  size_t length = uint8_t(bytes[8]) + 256 * size_t(uint8_t(bytes[9]));
  std::string header = bytes.substr(10, length);
  std::string type = between(header, "'descr': '", '\'');
  Shape shape;
  bool isOrdered = header.find("'fortran_order': False") != std::string::npos;
  if (!isOrdered ||
      !parseShape(between(header, "'shape': (", ')'), ',', shape)) {
    return "expected a row-major array with a shape in '" + path + "'";
  }
  bool converts = type == "<f4" && isReal(kind);
  if (!converts && type != getDescription(kind)) {
    return "expected elements of type " + getDescription(kind) + " in '" +
           path + "', but got " + type;
  }
  GlobalArray array(name, kind, shape);
  int64_t size = converts ? 4 : getBytes(kind);
  if (bytes.size() < 10 + length + size_t(array.getNumElements() * size)) {
    return "expected '" + path + "' to hold all elements of its shape";
  }
  const auto *data =
      reinterpret_cast<const uint8_t *>(bytes.data()) + 10 + length;
  for (int64_t i = 0; i < array.getNumElements(); ++i) {
    if (converts) {
      encode(kind, decodeReal(ElementKind::F32, data + 4 * i), array.at(i));
    } else {
      std::memcpy(array.at(i), data + size * i, size_t(size));
    }
  }
  array.setAllWritten();
  arrays.push_back(std::move(array));
  return "";
}

std::string sim::makeArray(const std::string &text, uint64_t seed,
                           std::vector<GlobalArray> &arrays,
                           const std::string &name, ElementKind kind) {
  std::string how = text.substr(0, text.find(':'));
  bool isFill = how == "zeros" || how == "iota" || how == "random";
  if (!isFill && how != "none") {
    return readArray(text, arrays, name, kind);
  }
  Shape shape;
  if (how == text || !parseShape(text.substr(how.size() + 1), 'x', shape)) {
    return "expected extents such as " + how + ":128x64, but got '" + text +
           "'";
  }
  arrays.emplace_back(name, kind, shape);
  if (isFill) {
    fill(arrays.back(), how, seed);
  }
  return "";
}

std::string sim::parseScalar(const std::string &text, const std::string &name,
                             ElementKind kind, Value &value) {
  bool isNumber = isReal(kind) ? llvm::to_float(text, value.real)
                               : llvm::to_integer(text, value.integer, 10);
  if (!isNumber) {
    return "expected a number for '" + name + "', but got '" + text + "'";
  }
  // Both signed and unsigned numbers of the type.
  unsigned bits = 8 * unsigned(getBytes(kind));
  if (!isReal(kind) && bits < 64 && !llvm::isIntN(bits, value.integer) &&
      !llvm::isUIntN(bits, uint64_t(value.integer))) {
    return "expected a number of " + std::to_string(bits) + " bits for '" +
           name + "', but got '" + text + "'";
  }
  value.integer = wrapTo(kind, value.integer);
  return "";
}

std::string sim::writeArray(const std::string &path, GlobalArray &array) {
  std::string shape;
  for (int64_t extent : array.shape) {
    shape += std::to_string(extent) + ",";
  }
  bool narrow = isReal(array.kind) && array.kind != ElementKind::F32;
  ElementKind kind = narrow ? ElementKind::F32 : array.kind;
  std::string header = "{'descr': '" + getDescription(kind) +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize((header.size() + 10 + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY" << '\x01' << '\0' << char(header.size() & 255)
       << char(header.size() >> 8) << header;
  for (int64_t i = 0; i < array.getNumElements(); ++i) {
    if (narrow) {
      float value = decodeReal(array.kind, array.at(i));
      file.write(reinterpret_cast<const char *>(&value), sizeof(value));
    } else {
      file.write(reinterpret_cast<const char *>(array.at(i)),
                 getBytes(array.kind));
    }
  }
  return file ? "" : "expected to write '" + path + "', but could not";
}
