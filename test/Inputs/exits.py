#!/usr/bin/env python3
# ===- exits.py - Does a command exit with a code? ----------*- Python -*-=== #
#
# Part of the JFA project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------=== #
"""exits.py CODE COMMAND...: runs COMMAND; succeeds if it exits with CODE."""

import subprocess
import sys

expected, command = int(sys.argv[1]), sys.argv[2:]
found = subprocess.run(command, check=False).returncode
if found != expected:
    sys.exit(f"expected exit code {expected} of {command[0]}, but got {found}")
