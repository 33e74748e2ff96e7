//===- Specials.cpp - Special registers -*- C++ -*-===//
//
// Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA 10: their names, and what warps find in them.
//
//===----------------------------------------------------------------------===//

#include "jfa/Emu/Machine.h"

using namespace mlir::jfa;
using namespace mlir::jfa::emu;

static const std::pair<const char *, Special> kSpecials[] = {
    {"%tid.x", Special::TidX},
    {"%tid.y", Special::TidY},
    {"%tid.z", Special::TidZ},
    {"%ntid.x", Special::NtidX},
    {"%ntid.y", Special::NtidY},
    {"%ntid.z", Special::NtidZ},
    {"%ctaid.x", Special::CtaidX},
    {"%ctaid.y", Special::CtaidY},
    {"%ctaid.z", Special::CtaidZ},
    {"%nctaid.x", Special::NctaidX},
    {"%nctaid.y", Special::NctaidY},
    {"%nctaid.z", Special::NctaidZ},
    {"%laneid", Special::LaneId},
    {"%warpid", Special::WarpId},
    {"%clusterid.x", Special::ClusterIdX},
    {"%clusterid.y", Special::ClusterIdY},
    {"%clusterid.z", Special::ClusterIdZ},
    {"%nclusterid.x", Special::NclusterIdX},
    {"%nclusterid.y", Special::NclusterIdY},
    {"%nclusterid.z", Special::NclusterIdZ},
    {"%cluster_ctaid.x", Special::ClusterCtaidX},
    {"%cluster_ctaid.y", Special::ClusterCtaidY},
    {"%cluster_ctaid.z", Special::ClusterCtaidZ},
    {"%cluster_nctaid.x", Special::ClusterNctaidX},
    {"%cluster_nctaid.y", Special::ClusterNctaidY},
    {"%cluster_nctaid.z", Special::ClusterNctaidZ},
    {"%cluster_ctarank", Special::ClusterCtaRank},
    {"%cluster_nctarank", Special::ClusterNctaRank},
    {"%lanemask_eq", Special::LanemaskEq},
    {"%lanemask_lt", Special::LanemaskLt},
    {"%lanemask_le", Special::LanemaskLe},
    {"%lanemask_gt", Special::LanemaskGt},
    {"%lanemask_ge", Special::LanemaskGe},
    {"%smid", Special::SmId},
    {"%nsmid", Special::NsmId},
    {"%nwarpid", Special::NwarpId},
    {"%gridid", Special::GridId},
    {"%dynamic_smem_size", Special::DynamicSmemSize},
    {"%total_smem_size", Special::TotalSmemSize},
    {"%clock", Special::Clock},
    {"%clock64", Special::Clock64},
    {"%globaltimer", Special::GlobalTimer}};

Special emu::findSpecial(llvm::StringRef name) {
  for (auto [known, special] : kSpecials) {
    if (name == known) {
      return special;
    }
  }
  return Special::Count;
}

std::array<uint32_t, 3> emu::unflatten(uint32_t number,
                                       const std::array<uint32_t, 3> &of) {
  return {number % of[0], number / of[0] % of[1], number / of[0] / of[1]};
}

void Machine::fillSpecials(Warp &warp) {
  auto fill = [&](Special special, auto value) {
    uint64_t *row = warp.row(code.specials + uint32_t(special));
    for (uint32_t lane = 0; lane < 32; ++lane) {
      row[lane] = value(lane);
    }
  };
  auto fillXYZ = [&](Special first, const std::array<uint32_t, 3> &values) {
    for (uint32_t i = 0; i < 3; ++i) {
      fill(Special(uint32_t(first) + i), [&](uint32_t) { return values[i]; });
    }
  };
  for (uint32_t i = 0; i < 3; ++i) {
    fill(Special(uint32_t(Special::TidX) + i), [&](uint32_t lane) {
      return unflatten(warp.indexInCta * 32 + lane, shape.block)[i];
    });
  }
  std::array<uint32_t, 3> clusterId, clusters;
  for (unsigned i = 0; i < 3; ++i) {
    clusterId[i] = warp.cta.id[i] / shape.cluster[i];
    clusters[i] = shape.grid[i] / shape.cluster[i];
  }
  fillXYZ(Special::NtidX, shape.block);
  fillXYZ(Special::CtaidX, warp.cta.id);
  fillXYZ(Special::NctaidX, shape.grid);
  fillXYZ(Special::ClusterIdX, clusterId);
  fillXYZ(Special::NclusterIdX, clusters);
  fillXYZ(Special::ClusterCtaidX, unflatten(warp.cta.rank, shape.cluster));
  fillXYZ(Special::ClusterNctaidX, shape.cluster);
  auto constant = [&](Special special, uint64_t value) {
    fill(special, [&](uint32_t) { return value; });
  };
  constant(Special::ClusterCtaRank, warp.cta.rank);
  constant(Special::ClusterNctaRank, ctas.size());
  constant(Special::WarpId, warp.indexInCta);
  constant(Special::SmId, warp.cta.rank);
  constant(Special::NsmId, code.module->target == "sm_90a" ? 132 : 148);
  constant(Special::NwarpId, 64);
  constant(Special::DynamicSmemSize, shape.dynamicShared);
  constant(Special::TotalSmemSize, warp.cta.bytes.size());
  fill(Special::LaneId, [](uint32_t lane) { return lane; });
  fill(Special::LanemaskEq, [](uint32_t lane) { return 1u << lane; });
  fill(Special::LanemaskLt, [](uint32_t lane) { return (1u << lane) - 1; });
  fill(Special::LanemaskLe, [](uint32_t lane) { return ~0u >> (31 - lane); });
  fill(Special::LanemaskGt, [](uint32_t lane) { return ~1u << lane; });
  fill(Special::LanemaskGe, [](uint32_t lane) { return ~0u << lane; });
}
