# Settings of the lit tests that do not depend on the build.
#
# Features: `ptxas`, NVIDIA's assembler was found where jfa-opt finds it;
# `nvdisasm`, so was its disassembler, which `%nvdisasm` stands for;
# `cuda`, there is an NVIDIA GPU.

import os
import shutil
import sys

import lit.formats

config.name = "JFA"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.jfa_obj_root

config.environment["PATH"] = os.pathsep.join(
    [config.jfa_tools_dir, config.llvm_tools_dir, os.environ.get("PATH", "")]
)
config.substitutions.append(("%python", sys.executable))
# `%exits CODE COMMAND...` checks a command's exit code.
exits = os.path.join(config.test_source_root, "Inputs", "exits.py")
config.substitutions.append(("%exits", f"{sys.executable} {exits}"))
# For tests that set PATH.
config.substitutions.append(
    ("%jfa-opt", os.path.join(config.jfa_tools_dir, "jfa-opt"))
)

plugin = os.path.join(config.jfa_lib_dir, "jfa-plugin.so")
config.substitutions.append(("%jfa_plugin", plugin))
# The stock tool, and what it takes to know the tlx dialect.
config.substitutions.append(
    ("%mlir-opt", os.path.join(config.llvm_tools_dir, "mlir-opt"))
)
config.substitutions.append(
    ("%load_jfa", f"--load-dialect-plugin={plugin} --load-pass-plugin={plugin}")
)
config.substitutions.append(("%kernels", config.jfa_kernels_dir))


def find_cuda_tool(name, override=None, found=None):
    """Takes what CMake found, or looks where jfa::findPtxas() looks."""
    candidates = [override and os.environ.get(override), found,
                  shutil.which(name)]
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        root = os.environ.get(variable)
        candidates.append(root and os.path.join(root, "bin", name))
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    return None


ptxas = find_cuda_tool("ptxas", "JFA_PTXAS", config.jfa_ptxas)
if ptxas:
    config.available_features.add("ptxas")
    config.environment["JFA_PTXAS"] = ptxas
nvdisasm = find_cuda_tool("nvdisasm", "JFA_NVDISASM", config.jfa_nvdisasm)
if nvdisasm:
    config.available_features.add("nvdisasm")
    config.substitutions.append(("%nvdisasm", nvdisasm))
if os.path.exists("/dev/nvidia0"):
    config.available_features.add("cuda")
