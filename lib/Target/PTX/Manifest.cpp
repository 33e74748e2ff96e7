//===- Manifest.cpp - The manifest of a kernel ------------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derives a kernel's manifest. Facts about the launch come from attributes
// that the lowering leaves on the function; sizes and offsets of arguments
// follow from their types by the rules of the CUDA parameter space; the rest
// is what ptxas said.
//
//===----------------------------------------------------------------------===//

#include "jfa/Target/PTX/Manifest.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::jfa;
namespace json = llvm::json;

/// Converts the kinds of attribute that a manifest may hold.
static FailureOr<json::Value> toJSON(Attribute attr) {
  if (auto value = dyn_cast<BoolAttr>(attr)) {
    return json::Value(value.getValue());
  }
  if (auto value = dyn_cast<IntegerAttr>(attr);
      value && value.getValue().isSignedIntN(64)) {
    return json::Value(value.getValue().getSExtValue());
  }
  if (auto value = dyn_cast<FloatAttr>(attr)) {
    return json::Value(value.getValueAsDouble());
  }
  if (auto value = dyn_cast<StringAttr>(attr)) {
    return json::Value(json::fixUTF8(value.getValue()));
  }
  if (auto value = dyn_cast<TypeAttr>(attr)) {
    std::string text;
    llvm::raw_string_ostream(text) << value.getValue();
    return json::Value(std::move(text));
  }
  if (isa<UnitAttr>(attr)) {
    return json::Value(true);
  }
  if (auto value = dyn_cast<DenseI64ArrayAttr>(attr)) {
    return json::Value(json::Array(value.asArrayRef()));
  }
  if (auto value = dyn_cast<DenseI32ArrayAttr>(attr)) {
    return json::Value(json::Array(value.asArrayRef()));
  }
  if (auto value = dyn_cast<ArrayAttr>(attr)) {
    json::Array array;
    for (Attribute element : value) {
      FailureOr<json::Value> converted = toJSON(element);
      if (failed(converted)) {
        return failure();
      }
      array.push_back(std::move(*converted));
    }
    return json::Value(std::move(array));
  }
  auto value = dyn_cast<DictionaryAttr>(attr);
  if (!value) {
    return failure();
  }
  json::Object object;
  for (NamedAttribute member : value) {
    FailureOr<json::Value> converted = toJSON(member.getValue());
    if (failed(converted)) {
      return failure();
    }
    object[member.getName().getValue()] = std::move(*converted);
  }
  return json::Value(std::move(object));
}

namespace {
/// How an argument lies in the parameter space.
struct ArgumentLayout {
  uint64_t size = 0;
  uint64_t alignment = 1;
};
} // namespace

static ArgumentLayout layOutArgument(LLVM::LLVMFuncOp kernel, unsigned index,
                                     const DataLayout &layout) {
  Type type = kernel.getArgumentTypes()[index];
  if (auto byval = kernel.getArgAttrOfType<TypeAttr>(
          index, LLVM::LLVMDialect::getByValAttrName())) {
    type = byval.getValue();
    auto align = kernel.getArgAttrOfType<IntegerAttr>(
        index, LLVM::LLVMDialect::getAlignAttrName());
    return {layout.getTypeSize(type).getFixedValue(),
            align ? align.getValue().getZExtValue()
                  : layout.getTypeABIAlignment(type)};
  }
  if (isa<LLVM::LLVMPointerType>(type)) {
    // Pointers of every address space are 64 bits wide for a kernel.
    return {8, 8};
  }
  // PTX aligns a scalar parameter to its size (PTX ISA 5.1.6); the module's
  // data layout may say otherwise of 64-bit integers.
  uint64_t size = layout.getTypeSize(type).getFixedValue();
  return {size, llvm::PowerOf2Ceil(size)};
}

/// What the type alone tells, for a kernel without `tlx.arguments`.
static json::Object describeFromType(LLVM::LLVMFuncOp kernel, unsigned index) {
  Type type = kernel.getArgumentTypes()[index];
  json::Object object;
  object["name"] = "arg" + std::to_string(index);
  if (kernel.getArgAttr(index, LLVM::LLVMDialect::getByValAttrName())) {
    // A tensor map is 128 bytes aligned to 64; nothing else is passed so.
    object["kind"] = "tensormap";
  } else if (isa<LLVM::LLVMPointerType>(type)) {
    object["kind"] = "pointer";
  } else {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    object["kind"] = "scalar";
    object["type"] = text;
  }
  return object;
}

static FailureOr<json::Object> describe(LLVM::LLVMFuncOp kernel, unsigned index,
                                        ArrayAttr arguments) {
  if (!arguments) {
    return describeFromType(kernel, index);
  }
  FailureOr<json::Value> value = toJSON(arguments[index]);
  json::Object *object = succeeded(value) ? value->getAsObject() : nullptr;
  if (!object || !object->getString("name") || !object->getString("kind")) {
    return kernel.emitError("expected every element of 'tlx.arguments' to be a "
                            "dictionary with 'name' and 'kind', but got ")
           << arguments[index];
  }
  return std::move(*object);
}

static FailureOr<json::Array> describeArguments(LLVM::LLVMFuncOp kernel) {
  auto arguments = kernel->getAttrOfType<ArrayAttr>("tlx.arguments");
  if (arguments && arguments.size() != kernel.getNumArguments()) {
    return kernel.emitError("expected 'tlx.arguments' to have ")
           << kernel.getNumArguments()
           << " elements, one for each argument, but got " << arguments.size();
  }
  DataLayout layout = DataLayout::closest(kernel);
  json::Array array;
  uint64_t offset = 0;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
    FailureOr<json::Object> object = describe(kernel, i, arguments);
    if (failed(object)) {
      return failure();
    }
    ArgumentLayout argument = layOutArgument(kernel, i, layout);
    offset = llvm::alignTo(offset, argument.alignment);
    (*object)["size"] = argument.size;
    (*object)["offset"] = offset;
    offset += argument.size;
    array.push_back(std::move(*object));
  }
  return array;
}

/// A shape of up to three dimensions, filled up with ones.
static json::Array describeShape(LLVM::LLVMFuncOp kernel, StringRef name) {
  int64_t shape[3] = {1, 1, 1};
  if (auto attr = kernel->getAttrOfType<DenseI32ArrayAttr>(name)) {
    for (auto [i, size] : llvm::enumerate(attr.asArrayRef().take_front(3))) {
      shape[i] = size;
    }
  }
  return json::Array({shape[0], shape[1], shape[2]});
}

static FailureOr<json::Object> describeParameters(LLVM::LLVMFuncOp kernel) {
  auto parameters = kernel->getAttrOfType<DictionaryAttr>("tlx.parameters");
  if (!parameters) {
    return json::Object();
  }
  FailureOr<json::Value> value = toJSON(parameters);
  if (failed(value)) {
    return kernel.emitError("expected 'tlx.parameters' to hold integers, "
                            "booleans and strings, but got ")
           << parameters;
  }
  return std::move(*value->getAsObject());
}

FailureOr<json::Object>
mlir::jfa::buildManifest(LLVM::LLVMFuncOp kernel, StringRef arch,
                         const KernelResources &resources,
                         StringRef ptxasVersion) {
  StringRef blockAttr = NVVM::NVVMDialect::getReqntidAttrName();
  if (!kernel->hasAttr(blockAttr)) {
    return kernel.emitError("expected a kernel with '")
           << blockAttr << "', because its block size is part of the manifest";
  }
  FailureOr<json::Object> parameters = describeParameters(kernel);
  FailureOr<json::Array> arguments = describeArguments(kernel);
  if (failed(parameters) || failed(arguments)) {
    return failure();
  }
  auto shared = kernel->getAttrOfType<IntegerAttr>("tlx.shared_memory_bytes");
  json::Object object;
  object["schema"] = manifestSchema;
  object["entry"] = kernel.getName();
  object["arch"] = arch;
  object["parameters"] = std::move(*parameters);
  object["block"] = describeShape(kernel, blockAttr);
  object["cluster"] =
      describeShape(kernel, NVVM::NVVMDialect::getClusterDimAttrName());
  object["shared_memory_bytes"] =
      shared ? shared.getValue().getSExtValue() : int64_t(0);
  object["registers"] = resources.registers;
  object["spill_store_bytes"] = resources.spillStoreBytes;
  object["spill_load_bytes"] = resources.spillLoadBytes;
  object["stack_bytes"] = resources.stackBytes;
  object["arguments"] = std::move(*arguments);
  if (auto protocol = kernel->getAttrOfType<StringAttr>("tlx.protocol")) {
    object["protocol"] = protocol.getValue();
  }
  object["compiler"] = json::Object{{"jfa", JFA_VERSION},
                                    {"llvm", LLVM_VERSION_STRING},
                                    {"ptxas", ptxasVersion}};
  return object;
}
