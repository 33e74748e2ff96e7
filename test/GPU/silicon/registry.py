# ===- registry.py - All cases *- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""All cases, by family."""

import approximation
import atomic
import barrier
import cluster
import copy_cases
import product
import scalar
import warp


def get_cases():
    families = (scalar, approximation, warp, atomic, barrier,
                product, copy_cases, cluster)
    return [case for family in families for case in family.get_cases()]
