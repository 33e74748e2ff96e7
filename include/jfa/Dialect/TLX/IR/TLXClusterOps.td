//===- TLXClusterOps.td - Cluster family: CTAs that work together -*- tablegen -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef JFA_DIALECT_TLX_IR_TLXCLUSTEROPS
#define JFA_DIALECT_TLX_IR_TLXCLUSTEROPS

include "jfa/Dialect/TLX/IR/TLXInterfaces.td"
include "jfa/Dialect/TLX/IR/TLXTypes.td"

def TLX_ClusterDocs : OpDocGroup {
  let summary = "Cluster: CTAs that reach each other's shared memory";
  let description = [{
    The CTAs of a cluster run at the same time, and each knows its rank. Their
    buffers and barriers lie at the same offsets, so that one value names one in
    every CTA. A *mask* says in which: bit r stands for the CTA of rank r. Masks
    are values, of 1 to 2^n - 1 for a cluster of n CTAs.

    A kernel says `cluster(n)`, or none of these ops may be in it. Two rules are
    the author's, and the simulator's to check:

    1. No CTA reaches another one's barriers or buffers before that has
       initialised them: a `tlx.cluster_arrive` and a `tlx.cluster_wait` after the
       last `tlx.alloc_barriers`, before the tasks (PTX ISA 9.7.13.4).
    2. No CTA ends while another one may still reach it. A task of each CTA ends
       with both ops, or has waited for the last thing that others do to it. In a
       kernel with tensor memory the CTAs meet at the end by themselves, and
       tasks do not; asynchronous operations have to be over by then all the
       same.

    *Cluster launch control* (Blackwell) needs no `cluster(n)`, without which each
    CTA is a cluster of its own. A CTA that is done with its work asks that one
    which has not been launched yet never be, and does that one's work instead.
  }];
}

let opDocGroup = TLX_ClusterDocs in {

def TLX_ClusterRankOp : TLX_Op<"cluster_rank", [Pure]> {
  let summary = "The rank of this CTA in its cluster";
  let description = [{
    From 0 to the kernel's `cluster` - 1: `%cluster_ctarank` (PTX ISA 10). CTAs
    of consecutive `tlx.cta_id` make a cluster, so that it is also the remainder
    of that by the size of the cluster. 0 in a cluster of one.

    Example:

    ```mlir
    tlx.kernel @k() cluster(2) {
      %rank = tlx.cluster_rank : i32
    }
    ```
  }];
  let results = (outs I32:$rank);
  let assemblyFormat = "attr-dict `:` type($rank)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TLX_ClusterArriveOp : TLX_Op<"cluster_arrive", [TLX_Synchronizes]> {
  let summary = "Arrive at the barrier of the cluster";
  let description = [{
    Every thread of every CTA of the cluster has to arrive once before the
    barrier completes; threads that have ended do not count. What a thread did
    before is visible to those that have waited, what it has started is not:
    asynchronous operations are waited for by their own means. Before the tasks,
    mbarriers that have been initialised are visible to the other CTAs too.

    `barrier.cluster.arrive.aligned`, with release semantics (PTX ISA 9.7.13.3):
    all threads of a warp execute it, so no branch may part them. A thread must
    not arrive again before it has waited.

    Example:

    ```mlir
    tlx.kernel @k() cluster(2) {
      %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[2]>
      tlx.cluster_arrive
      tlx.cluster_wait
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def TLX_ClusterWaitOp : TLX_Op<"cluster_wait", [TLX_Synchronizes]> {
  let summary = "Wait for the barrier of the cluster";
  let description = [{
    Waits until every thread of the cluster that has not ended has arrived:
    `barrier.cluster.wait.aligned`, with acquire semantics (PTX ISA 9.7.13.3).
    The thread has to have arrived itself (`tlx.cluster_arrive`). What lies
    between is done while the others come.

    Example:

    ```mlir
    tlx.kernel @k() cluster(2) {
      tlx.cluster_arrive
      %buffer = tlx.local_alloc : !tlx.memdesc<[64, 64], bf16>
      tlx.cluster_wait
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def TLX_RemoteBarrierArriveOp : TLX_Op<"remote_barrier_arrive", [
    TLX_Synchronizes, DeclareOpInterfaceMethods<TLX_BarrierOpInterface>]> {
  let summary = "Arrive at an mbarrier of each of some CTAs of the cluster";
  let description = [{
    One arrival of the task's replica at the same barrier of every CTA in
    `mask`, its own CTA among them if the mask says so: `mapa` and
    `mbarrier.arrive.shared::cluster` (PTX ISA 9.7.9.23, 9.7.13.15.13), issued by
    one thread for each of the CTAs. A CTA's `arrivals` count those from other
    CTAs. Waits are local.

    It is the arrival that releases a slot which other CTAs fill with
    `multicast` copies: each of these waits for all who read the slot in any CTA.

    The instruction is the one without `.release.cluster`, which costs a fence of
    the whole GPU each time. What it publishes to other CTAs are the
    asynchronous operations that the task has waited for, such as the products
    that have read the slot. For accesses through the generic proxy, such as
    `tlx.local_load`, put a `tlx.fence_async_shared` before it: they meet the copy
    of another CTA, and the simulator reports a missing proxy fence otherwise.

    Example:

    ```mlir
    tlx.kernel @k() cluster(2) {
      %both = arith.constant 3 : i32
      %slot = arith.constant 0 : i32
      %empty = tlx.alloc_barriers arrivals(2) : !tlx.mbarrier<[2]>
      tlx.cluster_arrive
      tlx.cluster_wait
      tlx.async_tasks {
        tlx.async_task @consumer warps(4) {
          tlx.remote_barrier_arrive %empty[%slot] mask(%both) : !tlx.mbarrier<[2]>
          tlx.cluster_arrive
          tlx.cluster_wait
        }
      }
    }
    ```
  }];
  let arguments = (ins TLX_MBarrierType:$barrier, Optional<I32>:$index,
                       I32:$mask);
  let assemblyFormat = [{
    $barrier (`[` $index^ `]`)? `mask` `(` $mask `)` attr-dict
    `:` qualified(type($barrier))
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def TLX_ClcTryCancelOp : TLX_Op<"clc_try_cancel", [
    DeclareOpInterfaceMethods<TLX_AsyncOpInterface>,
    DeclareOpInterfaceMethods<TLX_BufferAccessOpInterface>,
    DeclareOpInterfaceMethods<TLX_BarrierOpInterface>,
    DeclareOpInterfaceMethods<TLX_TargetOpInterface>]> {
  let summary = "Ask for the work of a cluster that has not been launched yet";
  let description = [{
    Requests that the launch of some cluster of the grid be cancelled, and
    returns at once. The response, 16 bytes that `tlx.clc_query` reads, is
    written through the async proxy and delivers its bytes to the barrier, which
    has to expect them (`tlx.barrier_expect_bytes`). One thread of the task issues
    it: `clusterlaunchcontrol.try_cancel.async` (PTX ISA 9.7.13.17).

    With `multicast` the same response is written to the same buffer of every
    CTA of the cluster and delivered to the same barrier of each of them, of
    which every one expects its own 16 bytes
    (`.multicast::cluster::all`). One CTA asks for all of them.

    Each cluster is launched or cancelled, once. A cancelled one never runs:
    whoever gets it has to do its work. Requests fail when no cluster is left, and
    may fail before, such as when another kernel needs the multiprocessors: the
    clusters that are left are launched then.

    Constraints:
    1. `response` is 16 bytes of shared memory: `!tlx.memdesc<[4], i32>`.
    2. After a CTA has read (`tlx.clc_query`) that a request of its cluster has
       failed, it must not make another one. The simulator checks that.
    3. The response must have been read by all who read it before it is
       requested anew into the same buffer; of this `tlx-insert-fences` adds the
       proxy fence.

    Example:

    ```mlir
    tlx.kernel @k() {
      %c0 = arith.constant 0 : i32
      %response = tlx.local_alloc : !tlx.memdesc<[4], i32>
      %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
      tlx.async_tasks {
        tlx.async_task @schedule warps(1) {
          tlx.barrier_expect_bytes %full, %response : !tlx.mbarrier<[1]>, !tlx.memdesc<[4], i32>
          tlx.clc_try_cancel %response signal %full : !tlx.memdesc<[4], i32>, !tlx.mbarrier<[1]>
          tlx.barrier_wait %full, %c0 : !tlx.mbarrier<[1]>
          %is_canceled, %cta = tlx.clc_query %response : !tlx.memdesc<[4], i32>
        }
      }
    }
    ```
  }];
  let arguments = (ins
    Arg<TLX_MemDescType, "", [MemWrite<TLX_SharedMemory>]>:$response,
    Arg<TLX_MBarrierType, "", [MemRead<TLX_BarrierState>, MemWrite<TLX_BarrierState>]>:$barrier,
    Optional<I32>:$index, UnitAttr:$multicast);
  let assemblyFormat = [{
    $response `signal` $barrier (`[` $index^ `]`)? (`multicast` $multicast^)?
    attr-dict `:` qualified(type($response)) `,` qualified(type($barrier))
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def TLX_ClcQueryOp : TLX_Op<"clc_query", [
    DeclareOpInterfaceMethods<TLX_BufferAccessOpInterface>,
    DeclareOpInterfaceMethods<TLX_TargetOpInterface>]> {
  let summary = "Read the response to a request for another cluster's work";
  let description = [{
    Whether the request has cancelled a cluster, and if so which: `cta` is the
    `tlx.cta_id` of its first CTA; to it a CTA of a cluster adds its own
    `tlx.cluster_rank`. Otherwise `cta` is 0. The barrier that the response is
    delivered to has been waited for.
    `clusterlaunchcontrol.query_cancel.is_canceled` and, only where that holds,
    `.get_first_ctaid::x` (PTX ISA 9.7.13.18). All threads of the task read it.

    Example:

    ```mlir
    tlx.kernel @k() {
      %response = tlx.local_alloc : !tlx.memdesc<[4], i32>
      tlx.async_tasks {
        tlx.async_task @work warps(4) {
          %is_canceled, %cta = tlx.clc_query %response : !tlx.memdesc<[4], i32>
        }
      }
    }
    ```
  }];
  let arguments = (ins
    Arg<TLX_MemDescType, "", [MemRead<TLX_SharedMemory>]>:$response);
  let results = (outs I1:$is_canceled, I32:$cta);
  let assemblyFormat = "$response attr-dict `:` qualified(type($response))";
  let hasVerifier = 1;
}

def TLX_AsyncRemoteCopyOp : TLX_Op<"async_remote_copy", [
    DeclareOpInterfaceMethods<TLX_AsyncOpInterface>,
    DeclareOpInterfaceMethods<TLX_BufferAccessOpInterface>,
    DeclareOpInterfaceMethods<TLX_BarrierOpInterface>]> {
  let summary = "Start a copy of a buffer into one of another CTA of the cluster";
  let description = [{
    Reads `source` of this CTA and writes `destination` of the CTA whose rank is
    `rank`, its own one too, both through the async proxy, and delivers the bytes
    to `barrier` of that CTA, which expects them (`tlx.barrier_expect_bytes`):
    `cp.async.bulk.shared::cluster.shared::cta` with
    `mbarrier::complete_tx::bytes` (PTX ISA 9.7.9.25.5.2), whose addresses there
    are from `mapa` (9.7.9.23). One thread of the task issues it.

    Both are whole tiles of one type, in shared memory, so that the bytes lie
    alike. The other CTA learns by its barrier that the copy is done, and nobody
    else does: `source` may be written again, and the CTA may end, once that one
    has said so, as by `tlx.remote_barrier_arrive`. `destination` has to be free
    over there before. Of what the task did before, the barrier makes only the
    copy known.

    Example:

    ```mlir
    tlx.kernel @k() cluster(2) {
      %one = arith.constant 1 : i32
      %mine = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
      %theirs = tlx.local_alloc : !tlx.memdesc<[128, 64], bf16>
      %full = tlx.alloc_barriers arrivals(1) : !tlx.mbarrier<[1]>
      %rank = tlx.cluster_rank : i32
      %peer = arith.xori %rank, %one : i32
      tlx.cluster_arrive
      tlx.cluster_wait
      tlx.async_tasks {
        tlx.async_task @send warps(1) {
          tlx.barrier_expect_bytes %full, %theirs : !tlx.mbarrier<[1]>, !tlx.memdesc<[128, 64], bf16>
          tlx.async_remote_copy %mine, %theirs rank(%peer) signal %full : !tlx.memdesc<[128, 64], bf16>, !tlx.memdesc<[128, 64], bf16>, !tlx.mbarrier<[1]>
        }
      }
    }
    ```
  }];
  let arguments = (ins
    Arg<TLX_MemDescType, "", [MemRead<TLX_SharedMemory>]>:$source,
    Arg<TLX_MemDescType, "", [MemWrite<TLX_SharedMemory>]>:$destination,
    I32:$rank,
    Arg<TLX_MBarrierType, "", [MemRead<TLX_BarrierState>, MemWrite<TLX_BarrierState>]>:$barrier,
    Optional<I32>:$index);
  let assemblyFormat = [{
    $source `,` $destination `rank` `(` $rank `)` `signal` $barrier
    (`[` $index^ `]`)? attr-dict `:` qualified(type($source)) `,`
    qualified(type($destination)) `,` qualified(type($barrier))
  }];
  let hasVerifier = 1;
}

} // opDocGroup

#endif // JFA_DIALECT_TLX_IR_TLXCLUSTEROPS
