//===- DriverMode.h - The compiler driver of jfa-opt ------------*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// jfa-opt is all of mlir-opt; given one of the driver's own options it is a
// compiler driver instead.
//
//===----------------------------------------------------------------------===//

#ifndef JFA_TOOLS_JFA_OPT_DRIVERMODE_H
#define JFA_TOOLS_JFA_OPT_DRIVERMODE_H

namespace mlir::jfa {

/// Makes the driver's options known to the command line, for --help.
void registerDriverOptions();

/// Whether the command line has one of the driver's options.
bool isDriverInvocation(int argc, char **argv);

/// Runs the driver and returns the exit status of the process.
int runDriver(int argc, char **argv);

} // namespace mlir::jfa

#endif // JFA_TOOLS_JFA_OPT_DRIVERMODE_H
