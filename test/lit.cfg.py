# Settings of the lit tests that do not depend on the build.
#
# Features: `ptxas`, NVIDIA's assembler was found where jfa-opt finds it;
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
# The kernels that are shipped.
config.substitutions.append(
    (
        "%kernels",
        os.path.join(os.path.dirname(config.test_source_root), "lib", "Kernels"),
    )
)
# For tests that set PATH.
config.substitutions.append(
    ("%jfa-opt", os.path.join(config.jfa_tools_dir, "jfa-opt"))
)


def find_ptxas():
    """Looks where jfa::findPtxas() looks."""
    candidates = [os.environ.get("JFA_PTXAS"), shutil.which("ptxas")]
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        root = os.environ.get(variable)
        candidates.append(root and os.path.join(root, "bin", "ptxas"))
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    return None


ptxas = find_ptxas()
if ptxas:
    config.available_features.add("ptxas")
    config.environment["JFA_PTXAS"] = ptxas
if os.path.exists("/dev/nvidia0"):
    config.available_features.add("cuda")
