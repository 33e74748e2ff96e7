// RUN: jfa-opt %S/../../Sim/launch_control.mlir --arch=sm_100a --verify-protocol=strict --emit=ptx -o - | FileCheck %s
// RUN: jfa-opt %S/../../Sim/launch_control_cluster.mlir --arch=sm_100a --verify-protocol=strict --emit=ptx -o - | FileCheck %s --check-prefix=CLUSTER
// RUN: not jfa-opt %S/../../Sim/launch_control.mlir --arch=sm_90a --emit=ptx -o - 2>&1 | FileCheck %s --check-prefix=HOPPER

// CHECK: elect.sync
// CHECK: clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r{{d?[0-9]+}}], [%r{{d?[0-9]+}}];
// Which CTA is asked only where there is one.
// CHECK: mbarrier.try_wait
// CHECK: clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 canceled,
// CHECK-SAME: @canceled clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128
// CHECK: fence.proxy.async

// CLUSTER: clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128

// HOPPER: error: 'tlx.clc_try_cancel' op expected an architecture with cluster launch control (sm_100a, sm_103a, sm_110a), but got sm_90a; it has a grid of as many CTAs as multiprocessors
