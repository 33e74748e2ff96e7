// RUN: jfa-sim %S/../pair.mlir --arg x=random:1280x64 --arg w=random:640x64 --arg v=random:640x64 --arg y=none:256x64 --arg n=5
// RUN: %exits 2 jfa-sim %S/../pair.mlir -D MEET_FIRST=false --arg x=random:1280x64 --arg w=random:640x64 --arg v=random:640x64 --arg y=none:256x64 --arg n=5 2>&1 | FileCheck %s
//
// A CTA reaches the barriers of the other one before that has initialised them.
//
// CHECK: error: remote access before the CTA is ready
// CHECK: note: initialised here
