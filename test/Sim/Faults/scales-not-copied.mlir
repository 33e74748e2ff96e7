// RUN: jfa-sim %S/../../Target/PTX/Inputs/scaled_products.mlir -D COPIES=true --arg a=random:128x256 --arg b=random:160x256 --arg sa=zeros:256 --arg sb=zeros:512 --arg c=none:20480
// RUN: %exits 2 jfa-sim %S/../../Target/PTX/Inputs/scaled_products.mlir -D COPIES=false --arg a=random:128x256 --arg b=random:160x256 --arg sa=zeros:256 --arg sb=zeros:512 --arg c=none:20480 2>&1 | FileCheck %s
//
// A product reads scales that nobody has put into tensor memory.
//
// CHECK: error: memory never written: 
// CHECK: note: allocated here
