// RUN: jfa-opt %S/../../Sim/remote_copy.mlir --arch=sm_90a --emit=ptx -o - | FileCheck %s
// RUN: jfa-opt %S/../../Sim/remote_copy.mlir --arch=sm_100a --emit=ptx -o - | FileCheck %s

// What the threads have stored is fenced, and they have met, before one starts the copy.
// CHECK:     fence.proxy.async.shared::cta;
// CHECK:     bar{{(rier)?}}.sync
// CHECK-DAG: mapa.shared::cluster.u64 [[BARRIER:%rd[0-9]+]], %{{.+}}, [[RANK:%r[0-9]+]];
// CHECK-DAG: mapa.shared::cluster.u64 [[TO:%rd[0-9]+]], %{{.+}}, [[RANK]];
// CHECK:     cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes {{\[}}[[TO]]], [%{{.+}}], %{{.+}}, [%{{.+}}];
