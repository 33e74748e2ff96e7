//===- TaskOps.cpp - Task family: kernels and the tasks in them -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpAssembly.h"
#include "jfa/Dialect/TLX/IR/TLX.h"

#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::jfa;
using namespace mlir::jfa::tlx;

//===----------------------------------------------------------------------===//
// KernelOp: assembly
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true, /*allowAttrs=*/true)) {
    return failure();
  }
  SmallVector<Type> types;
  SmallVector<Attribute> names;
  for (const OpAsmParser::Argument &argument : arguments) {
    types.push_back(argument.type);
    names.push_back(builder.getStringAttr(argument.ssaName.name.drop_front()));
  }
  result.addAttribute(getFunctionTypeAttrName(result.name),
                      TypeAttr::get(builder.getFunctionType(types, {})));
  result.addAttribute(getArgumentNamesAttrName(result.name),
                      builder.getArrayAttr(names));
  if (succeeded(parser.parseOptionalKeyword("cluster"))) {
    ExprAttr cluster;
    if (parser.parseLParen() || parseExpr(parser, cluster) ||
        parser.parseRParen()) {
      return failure();
    }
    result.addAttribute(getClusterAttrName(result.name), cluster);
  }
  if (succeeded(parser.parseOptionalKeyword("parameters"))) {
    DictionaryAttr parameters;
    if (parser.parseAttribute(parameters)) {
      return failure();
    }
    result.addAttribute(getParametersAttrName(result.name), parameters);
  }
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes)) {
    return failure();
  }
  call_interface_impl::addArgAndResultAttrs(
      builder, result, arguments, /*resultAttrs=*/{},
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments)) {
    return failure();
  }
  if (body->empty()) {
    Block &block = body->emplaceBlock();
    for (Type type : types) {
      block.addArgument(type, result.location);
    }
  }
  return success();
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(
      getBody().getArguments(), printer, [&](BlockArgument argument) {
        ArrayAttr all = getArgAttrsAttr();
        auto attrs = all ? cast<DictionaryAttr>(all[argument.getArgNumber()])
                         : DictionaryAttr();
        printer.printRegionArgument(
            argument, attrs ? attrs.getValue() : ArrayRef<NamedAttribute>());
      });
  printer << ')';
  if (ExprAttr cluster = getClusterAttr()) {
    printer << " cluster(";
    cluster.printExpr(printer);
    printer << ')';
  }
  if (DictionaryAttr parameters = getParametersAttr()) {
    printer << " parameters " << parameters;
  }
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getSymNameAttrName(), getFunctionTypeAttrName(),
                            getArgumentNamesAttrName(), getClusterAttrName(),
                            getParametersAttrName(), getArgAttrsAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/false);
}

void KernelOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setName) {
  for (auto [argument, name] :
       llvm::zip(region.getArguments(),
                 getArgumentNames().getAsValueRange<StringAttr>())) {
    setName(argument, name);
  }
}

//===----------------------------------------------------------------------===//
// KernelOp: verification
//===----------------------------------------------------------------------===//

LogicalResult KernelOp::verify() {
  if (getFunctionType().getNumResults() != 0) {
    return emitOpError("expected no results, but got ")
           << getFunctionType().getNumResults();
  }
  if (getArgumentNames().size() != getNumArguments()) {
    return emitOpError("expected one name for each of the ")
           << getNumArguments() << " arguments, but got "
           << getArgumentNames().size();
  }
  llvm::StringSet<> names;
  for (StringRef name : getArgumentNames().getAsValueRange<StringAttr>()) {
    if (!names.insert(name).second) {
      return emitOpError("expected arguments of distinct names, but '")
             << name << "' occurs twice";
    }
  }
  for (auto [type, name] :
       llvm::zip(getArgumentTypes(),
                 getArgumentNames().getAsValueRange<StringAttr>())) {
    if (!isa<TensorMapType, PointerType>(type) &&
        !(type.isIntOrFloat() && type.getIntOrFloatBitWidth() >= 8 &&
          type.getIntOrFloatBitWidth() <= 64)) {
      return emitOpError("expected argument '")
             << name
             << "' to be a tensor map, a pointer or a scalar of 8 to 64 bits, "
                "but got "
             << type;
    }
  }
  if (ExprAttr cluster = getClusterAttr()) {
    std::optional<int64_t> value = cluster.getConstant();
    if (value &&
        (*value < 1 || *value > 8 || !llvm::isPowerOf2_64(uint64_t(*value)))) {
      return emitOpError("expected a cluster of 1, 2, 4 or 8 CTAs (the "
                         "portable limit), but got ")
             << *value;
    }
  }
  return success();
}

void tlx::forEachParameter(Attribute attr,
                           llvm::function_ref<void(StringAttr)> visit) {
  attr.walk([&](Attribute nested) {
    if (auto expr = dyn_cast<ExprAttr>(nested)) {
      llvm::for_each(expr.getNames(), visit);
    } else if (auto ref = dyn_cast<ParamRefAttr>(nested)) {
      visit(ref.getName());
    }
  });
}

static LogicalResult
verifyDeclared(Operation *op, Attribute attr,
               const llvm::StringMap<ParamOp> &parameters) {
  LogicalResult result = success();
  forEachParameter(attr, [&](StringAttr name) {
    if (succeeded(result) && !parameters.contains(name.getValue())) {
      result = op->emitOpError("expected '")
               << name.getValue() << "' to be declared by a 'tlx.param'";
    }
  });
  return result;
}

/// A tile outside of tasks would be one that CSE lets a task share.
static LogicalResult verifyTilesInTasks(KernelOp kernel) {
  WalkResult walk = kernel->walk<WalkOrder::PreOrder>([](Operation *op) {
    if (isa<AsyncTaskOp>(op)) {
      return WalkResult::skip();
    }
    if (!llvm::any_of(op->getResultTypes(),
                      llvm::IsaPred<TensorType, PendingType>)) {
      return WalkResult::advance();
    }
    op->emitOpError("expected tiles only inside a 'tlx.async_task', since a "
                    "tile lives in the registers of a task's threads");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult KernelOp::verifyRegions() {
  llvm::StringMap<ParamOp> parameters;
  for (ParamOp param : getBody().getOps<ParamOp>()) {
    auto [it, inserted] = parameters.try_emplace(param.getName(), param);
    if (!inserted) {
      InFlightDiagnostic diag = param.emitOpError("expected '")
                                << param.getName()
                                << "' to be declared once in a kernel";
      diag.attachNote(it->second.getLoc()) << "first declared here";
      return diag;
    }
  }
  for (AsyncTasksOp tasks : getBody().getOps<AsyncTasksOp>()) {
    if (tasks != &getBody().front().back()) {
      return tasks.emitOpError("expected to be the last op of the kernel, "
                               "since nothing runs after the tasks");
    }
  }
  WalkResult walk = (*this)->walk([&](Operation *op) {
    SmallVector<Attribute> used = {op->getAttrDictionary(),
                                   op->getPropertiesAsAttribute()};
    for (Type type : op->getResultTypes()) {
      used.push_back(TypeAttr::get(type));
    }
    for (Attribute attr : used) {
      if (attr && failed(verifyDeclared(op, attr, parameters))) {
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return walk.wasInterrupted() ? failure() : verifyTilesInTasks(*this);
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

AsyncTaskOp tlx::getEnclosingTask(Operation *op) {
  return op->getParentOfType<AsyncTaskOp>();
}

int64_t AsyncTaskOp::getNumWarps() {
  return getWarps().getConstant().value_or(0);
}

int64_t AsyncTaskOp::getNumReplicas() {
  return getReplicasAttr() ? getReplicasAttr().getConstant().value_or(0) : 1;
}

std::optional<int64_t> AsyncTaskOp::getRegisterBudget() {
  return getRegistersAttr() ? getRegistersAttr().getConstant() : std::nullopt;
}

LogicalResult AsyncTaskOp::verify() {
  std::optional<int64_t> warps = getWarps().getConstant();
  if (warps && (*warps < 1 || *warps > 32 ||
                (*warps != 1 && *warps != 2 && *warps % 4 != 0))) {
    return emitOpError("expected 'warps' to be 1, 2 or a multiple of 4 up to "
                       "32, but got ")
           << *warps;
  }
  if (ExprAttr registers = getRegistersAttr()) {
    std::optional<int64_t> value = registers.getConstant();
    if (value && (*value < 24 || *value > 256 || *value % 8 != 0)) {
      return emitOpError("expected 'registers' to be a multiple of 8 from 24 "
                         "to 256 (PTX ISA 9.7.19.5), but got ")
             << *value;
    }
  }
  if (ExprAttr replicas = getReplicasAttr()) {
    std::optional<int64_t> value = replicas.getConstant();
    if (value && (*value < 1 || *value > 32)) {
      return emitOpError("expected 'replicate' to be from 1 to 32, but got ")
             << *value;
    }
  }
  return success();
}

LogicalResult AsyncTaskOp::verifyRegions() {
  WalkResult walk = getBody().walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      if (!isa<TensorType, PendingType>(operand.getType()) ||
          getBody().isAncestor(operand.getParentRegion())) {
        continue;
      }
      InFlightDiagnostic diag =
          op->emitOpError("expected no tile from outside the task, since a "
                          "tile lives in the registers of the threads that "
                          "made it");
      diag.attachNote(operand.getLoc()) << "the tile is made here";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult AsyncTaskReplicaIdOp::verify() {
  if (getEnclosingTask(*this)) {
    return success();
  }
  return emitOpError("expected to be inside a 'tlx.async_task'");
}

LogicalResult AsyncTasksOp::verifyRegions() {
  llvm::StringMap<AsyncTaskOp> names;
  AsyncTaskOp first;
  for (Operation &op : getBody().front()) {
    auto task = dyn_cast<AsyncTaskOp>(op);
    if (!task) {
      return op.emitOpError("expected only 'tlx.async_task' inside "
                            "'tlx.async_tasks'");
    }
    auto [it, inserted] = names.try_emplace(task.getTaskName(), task);
    if (!inserted) {
      InFlightDiagnostic diag =
          task.emitOpError("expected tasks of distinct names, but '")
          << task.getTaskName() << "' occurs twice";
      diag.attachNote(it->second.getLoc()) << "first used here";
      return diag;
    }
    first = first ? first : task;
    if (bool(first.getRegistersAttr()) != bool(task.getRegistersAttr())) {
      InFlightDiagnostic diag = task.emitOpError(
          "expected either every task to have a register budget or none");
      diag.attachNote(first.getLoc())
          << "this task has " << (first.getRegistersAttr() ? "one" : "none");
      return diag;
    }
  }
  return success();
}

/// Registers that each thread of the CTA is launched with: an even share of the
/// 64K registers of an SM in steps of 8, never more than a thread can name.
static int64_t launchRegisters(int64_t threads) {
  return std::min<int64_t>(65536 / threads / 8 * 8, 248);
}

/// Whether a task of `threads` and this budget goes on in the warpgroup that
/// `before`, a task of a few warps that ends at thread `end`, has begun.
static bool sharesWarpgroup(AsyncTaskOp before, int64_t end,
                            std::optional<int64_t> budget, int64_t threads) {
  constexpr int64_t kWarpgroup = 128;
  return before && budget && before.getRegisterBudget() == budget &&
         end % kWarpgroup != 0 && end % kWarpgroup + threads <= kWarpgroup;
}

FailureOr<TaskPlacement> AsyncTasksOp::getPlacement() {
  TaskPlacement placement{{}, 0, 0};
  int64_t registers = 0, activeEnd = 0;
  bool budgeted = false;
  AsyncTaskOp before;
  for (AsyncTaskOp task : getBody().getOps<AsyncTaskOp>()) {
    int64_t warps = task.getNumWarps(), replicas = task.getNumReplicas();
    if (warps == 0 || replicas == 0 ||
        (task.getRegistersAttr() && !task.getRegisterBudget())) {
      return task.emitOpError("expected its size to be known, but a parameter "
                              "is unbound");
    }
    budgeted = bool(task.getRegistersAttr());
    // setmaxnreg and wgmma are instructions of whole warpgroups.
    int64_t align = budgeted || warps % 4 == 0 ? 128 : 32;
    int64_t begin = llvm::alignTo(placement.numThreads, align);
    int64_t active = warps * 32 * replicas;
    std::optional<int64_t> budget = task.getRegisterBudget();
    if (sharesWarpgroup(before, activeEnd, budget, active)) {
      begin = activeEnd;
    }
    activeEnd = begin + active;
    int64_t end = budgeted ? llvm::alignTo(activeEnd, 128) : activeEnd;
    placement.slots.push_back({begin, warps * 32, active, replicas});
    registers +=
        std::max<int64_t>(end - placement.numThreads, 0) * budget.value_or(0);
    placement.numThreads = end;
    before = task;
  }
  if (placement.numThreads > 1024) {
    return emitOpError("expected at most 1024 threads in a CTA, but the tasks "
                       "have ")
           << placement.numThreads;
  }
  if (!budgeted) {
    return placement;
  }
  placement.launchRegisters = launchRegisters(placement.numThreads);
  int64_t pool = placement.launchRegisters * placement.numThreads;
  if (registers > pool) {
    InFlightDiagnostic diag = emitOpError("expected register budgets of at "
                                          "most ")
                              << pool << " in sum, the " << placement.numThreads
                              << " threads' share of the 65536 of an SM, but "
                                 "got "
                              << registers;
    for (auto [task, slot] :
         llvm::zip(getBody().getOps<AsyncTaskOp>(), placement.slots)) {
      diag.attachNote(task.getLoc())
          << "'" << task.getTaskName() << "' asks for "
          << *task.getRegisterBudget() << " registers for each of "
          << llvm::alignTo(slot.activeThreads, 128) << " threads";
    }
    return diag;
  }
  return placement;
}
