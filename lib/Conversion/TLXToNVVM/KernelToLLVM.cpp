//===- KernelToLLVM.cpp - Kernels and tasks become a function -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last step of the lowering: every other op has been lowered, and what is
// left are the kernel, its tasks and the casts of the kernel's arguments.
//
//===----------------------------------------------------------------------===//

#include "InlinePTX.h"
#include "LoweringBuilder.h"

#include "jfa/Dialect/TLX/IR/TensorMapRecipe.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

//===----------------------------------------------------------------------===//
// What the host has to know
//===----------------------------------------------------------------------===//

static Attribute elementAttr(Builder &builder, Type element) {
  std::string text;
  llvm::raw_string_ostream(text) << element;
  return builder.getStringAttr(text);
}

/// The extent of a hardware dimension, as the manifest writes it.
static Attribute extentAttr(Builder &builder, const TensorMapDim &dim) {
  switch (dim.kind) {
  case TensorMapDim::Kind::Inner:
    return builder.getI64IntegerAttr(dim.box);
  case TensorMapDim::Kind::Axis:
  case TensorMapDim::Kind::Panel:
    return builder.getStringAttr("axis");
  case TensorMapDim::Kind::Segment:
    return builder.getStringAttr("segment");
  case TensorMapDim::Kind::Position:
    return builder.getStringAttr("position");
  }
  llvm_unreachable("all kinds are handled");
}

static LogicalResult describeTensorMap(KernelOp kernel, Builder &builder,
                                       TensorMapType type,
                                       NamedAttrList &entry) {
  FailureOr<TensorMapRecipe> recipe =
      getTensorMapRecipe(type, [&] { return kernel.emitOpError(); });
  if (failed(recipe)) {
    return failure();
  }
  SmallVector<Attribute> dims;
  for (const TensorMapDim &dim : recipe->dims) {
    NamedAttrList fields;
    fields.set("axis", builder.getI64IntegerAttr(dim.axis));
    fields.set("step", builder.getI64IntegerAttr(dim.step));
    fields.set("box", builder.getI64IntegerAttr(dim.box));
    fields.set("extent", extentAttr(builder, dim));
    dims.push_back(fields.getDictionary(builder.getContext()));
  }
  entry.set("kind", builder.getStringAttr("tensormap"));
  entry.set("element", elementAttr(builder, recipe->element));
  entry.set("swizzle_bytes", builder.getI64IntegerAttr(recipe->swizzleBytes));
  entry.set("tile", builder.getI64ArrayAttr(recipe->tile));
  entry.set("ragged", builder.getBoolAttr(recipe->ragged));
  entry.set("dims", builder.getArrayAttr(dims));
  return success();
}

/// `tlx.arguments`: name, kind and type of each argument.
static FailureOr<ArrayAttr> describeArguments(KernelOp kernel) {
  Builder builder(kernel.getContext());
  SmallVector<Attribute> entries;
  for (auto [type, name] :
       llvm::zip(kernel.getArgumentTypes(), kernel.getArgumentNames())) {
    NamedAttrList entry;
    entry.set("name", name);
    if (auto map = dyn_cast<TensorMapType>(type)) {
      if (failed(describeTensorMap(kernel, builder, map, entry))) {
        return failure();
      }
    } else if (auto pointer = dyn_cast<PointerType>(type)) {
      entry.set("kind", builder.getStringAttr("pointer"));
      entry.set("element", elementAttr(builder, pointer.getElementType()));
    } else {
      entry.set("kind", builder.getStringAttr("scalar"));
      entry.set("type", elementAttr(builder, type));
    }
    entries.push_back(entry.getDictionary(builder.getContext()));
  }
  return builder.getArrayAttr(entries);
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

/// Changes the registers of a warpgroup's threads to the task's budget.
static void buildRegisterBudget(LoweringBuilder &b, AsyncTaskOp task,
                                int64_t launchRegisters) {
  std::optional<int64_t> budget = task.getRegisterBudget();
  if (!budget || *budget == launchRegisters) {
    return;
  }
  b.create<NVVM::SetMaxRegisterOp>(static_cast<uint32_t>(*budget),
                                   *budget < launchRegisters
                                       ? NVVM::SetMaxRegisterAction::decrease
                                       : NVVM::SetMaxRegisterAction::increase);
}

/// The task's body, run by its active warps only.
static void buildTask(LoweringBuilder &b, AsyncTaskOp task, Value warp,
                      const TaskPlacement::Slot &slot, int64_t slotEnd) {
  auto splice = [&] {
    Block *block = b.builder.getInsertionBlock();
    block->getOperations().splice(b.builder.getInsertionPoint(),
                                  task.getBody().front().getOperations());
  };
  int64_t activeEnd = slot.firstThread + slot.activeThreads;
  if (activeEnd == slotEnd) {
    splice();
    return;
  }
  Value isActive = b.create<arith::CmpIOp>(arith::CmpIPredicate::ult, warp,
                                           b.i32(activeEnd / 32));
  b.guarded(isActive, splice);
}

/// Branches on the index of the warp: part i is run by the warps before the
/// thread `ends[i]` that no part before it takes.
static void buildBranches(LoweringBuilder &b, Value warp,
                          ArrayRef<int64_t> ends,
                          function_ref<void(size_t)> build) {
  OpBuilder::InsertionGuard guard(b.builder);
  for (auto [i, end] : llvm::enumerate(ends.drop_back())) {
    Value isHere = b.create<arith::CmpIOp>(arith::CmpIPredicate::ult, warp,
                                           b.i32(end / 32));
    auto ifOp = b.create<scf::IfOp>(isHere, /*withElseRegion=*/true);
    b.builder.setInsertionPointToStart(ifOp.thenBlock());
    build(i);
    b.builder.setInsertionPointToStart(ifOp.elseBlock());
  }
  build(ends.size() - 1);
}

/// One branch for each task. Those that share a warpgroup change its registers
/// together, since that is one instruction of all its warps (PTX ISA 9.7.19.5).
static void buildDispatch(LoweringBuilder &b, AsyncTasksOp tasks,
                          const TaskPlacement &placement) {
  Value warp = b.uniformWarp();
  auto all = llvm::to_vector(tasks.getBody().getOps<AsyncTaskOp>());
  SmallVector<int64_t> ends, groupEnds;
  SmallVector<size_t> groups;
  for (size_t i = 0; i < all.size(); ++i) {
    bool shares =
        all[i].getRegistersAttr() && placement.slots[i].firstThread % 128 != 0;
    ends.push_back(i + 1 == all.size() ? placement.numThreads
                                       : placement.slots[i + 1].firstThread);
    if (!shares) {
      groups.push_back(i);
      groupEnds.push_back(0);
    }
    groupEnds.back() = ends.back();
  }
  buildBranches(b, warp, groupEnds, [&](size_t group) {
    size_t begin = groups[group];
    size_t end = group + 1 == groups.size() ? all.size() : groups[group + 1];
    buildRegisterBudget(b, all[begin], placement.launchRegisters);
    buildBranches(b, warp, ArrayRef(ends).slice(begin, end - begin),
                  [&](size_t i) {
                    buildTask(b, all[begin + i], warp,
                              placement.slots[begin + i], ends[begin + i]);
                  });
  });
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Barriers are initialised by thread 0; this makes that visible to the other
/// threads and to the async proxy before any task starts.
static void buildPrologueEnd(LoweringBuilder &b, ArrayRef<Value> maps) {
  b.guarded(b.equals(b.threadId(), 0), [&] {
    b.create<NVVM::FenceMbarrierInitOp>();
    for (Value map : maps) {
      buildTensorMapPrefetch(b, map);
    }
  });
  b.create<NVVM::Barrier0Op>();
}

static void setLaunchAttributes(KernelOp kernel, LLVM::LLVMFuncOp func,
                                const TaskPlacement &placement) {
  Builder builder(kernel.getContext());
  int32_t threads = static_cast<int32_t>(placement.numThreads);
  func->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                builder.getUnitAttr());
  func->setAttr("nvvm.reqntid", builder.getDenseI32ArrayAttr({threads}));
  // Without it ptxas does not know the registers at entry and ignores
  // setmaxnreg (C7508).
  func->setAttr("nvvm.minctasm", builder.getI32IntegerAttr(1));
  // A cluster of one needs no launch of its own kind.
  if (int64_t size = kernel.getClusterSize().value_or(1); size > 1) {
    func->setAttr("nvvm.cluster_dim", builder.getDenseI32ArrayAttr(
                                          {static_cast<int32_t>(size), 1, 1}));
  }
  // Exact subnormals cost two instructions for every exponential.
  func.setPassthroughAttr(builder.getArrayAttr(
      {builder.getStrArrayAttr({"denormal-fp-math-f32", "preserve-sign"})}));
  for (NamedAttribute attr : kernel->getDiscardableAttrs()) {
    func->setAttr(attr.getName(), attr.getValue());
  }
  if (DictionaryAttr parameters = kernel.getParametersAttr()) {
    func->setAttr("tlx.parameters", parameters);
  }
}

/// A tensor map is a parameter of 128 bytes that the kernel has a pointer to.
static void setArgumentAttributes(LLVM::LLVMFuncOp func, unsigned index) {
  MLIRContext *context = func.getContext();
  Builder builder(context);
  Type map = LLVM::LLVMArrayType::get(builder.getI8Type(), 128);
  func.setArgAttr(index, LLVM::LLVMDialect::getByValAttrName(),
                  TypeAttr::get(map));
  func.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(),
                  builder.getI64IntegerAttr(64));
  func.setArgAttr(index, NVVM::NVVMDialect::getGridConstantAttrName(),
                  builder.getUnitAttr());
}

/// The module's declaration of the CTA's dynamic shared memory.
static void declareSharedMemory(KernelOp kernel) {
  Operation *module = SymbolTable::getNearestSymbolTable(kernel->getParentOp());
  if (SymbolTable::lookupSymbolIn(module, kSharedMemoryName)) {
    return;
  }
  OpBuilder builder(kernel.getContext());
  builder.setInsertionPointToStart(&module->getRegion(0).front());
  Type bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  LLVM::GlobalOp::create(builder, kernel.getLoc(), bytes, /*isConstant=*/false,
                         LLVM::Linkage::External, kSharedMemoryName,
                         Attribute(), /*alignment=*/1024, /*addrSpace=*/3);
}

/// Moves the kernel's block into `func`, its arguments taking their new types.
static void moveBody(KernelOp kernel, LLVM::LLVMFuncOp func,
                     ArrayRef<Type> types) {
  func.getBody().takeBody(kernel.getBody());
  for (auto [argument, type] :
       llvm::zip_equal(func.getBody().getArguments(), types)) {
    argument.setType(type);
    for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
      auto cast = dyn_cast<UnrealizedConversionCastOp>(user);
      if (cast && cast.getNumResults() == 1 &&
          cast.getResult(0).getType() == type) {
        cast.getResult(0).replaceAllUsesWith(argument);
        cast.erase();
      }
    }
  }
}

LogicalResult tlx::lowerKernelToLLVM(KernelOp kernel) {
  auto tasks = kernel.getBody().getOps<AsyncTasksOp>();
  assert(!tasks.empty() && "checkLowerable() has not been asked");
  FailureOr<TaskPlacement> placement = (*tasks.begin()).getPlacement();
  FailureOr<ArrayAttr> arguments = describeArguments(kernel);
  if (failed(placement) || failed(arguments)) {
    return failure();
  }
  declareSharedMemory(kernel);
  TLXTypeConverter converter;
  SmallVector<Type> types;
  for (Type type : kernel.getArgumentTypes()) {
    types.push_back(converter.convertType(type));
  }
  OpBuilder builder(kernel);
  auto func = LLVM::LLVMFuncOp::create(
      builder, kernel.getLoc(), kernel.getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(kernel.getContext()),
                                  types));
  setLaunchAttributes(kernel, func, *placement);
  func->setAttr("tlx.arguments", *arguments);
  SmallVector<unsigned> mapIndices;
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    if (isa<TensorMapType>(type)) {
      setArgumentAttributes(func, i);
      mapIndices.push_back(i);
    }
  }
  moveBody(kernel, func, types);

  AsyncTasksOp tasksOp = *func.getBody().getOps<AsyncTasksOp>().begin();
  builder.setInsertionPoint(tasksOp);
  LoweringBuilder b(builder, tasksOp.getLoc());
  buildPrologueEnd(b, llvm::map_to_vector(mapIndices, [&](unsigned i) -> Value {
                     return func.getBody().getArgument(i);
                   }));
  buildDispatch(b, tasksOp, *placement);
  tasksOp.erase();
  builder.setInsertionPointToEnd(&func.getBody().front());
  LoweringBuilder end(builder, func.getLoc());
  buildTensorMemoryEnd(end, func);
  LLVM::ReturnOp::create(builder, kernel.getLoc(), ValueRange());
  kernel.erase();
  return success();
}
