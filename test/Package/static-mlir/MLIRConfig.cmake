# Stands for an MLIR that has static libraries only.
set(MLIR_INCLUDE_DIRS "")
set(LLVM_INCLUDE_DIRS "")
add_library(MLIRIR STATIC IMPORTED)
