# Configures the consumer against JFA's package, and builds and runs it with
# BUILD. With REFUSED, the configuration has to fail with that message.
file(REMOVE_RECURSE "${WORK}")

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "failed: ${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(package "${JFA_BINARY_DIR}/lib/cmake/JFA")
if(INSTALL)
  run("${CMAKE_COMMAND}" --install "${JFA_BINARY_DIR}" --prefix "${WORK}/prefix")
  set(package "${WORK}/prefix/${LIBDIR}/cmake/JFA")
endif()

set(configure "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/build"
  -G "${GENERATOR}" "-DJFA_DIR=${package}" -DCMAKE_BUILD_TYPE=Debug
  "-DCMAKE_C_COMPILER=${C_COMPILER}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
  "-DCMAKE_CXX_COMPILER_LAUNCHER=${CXX_LAUNCHER}")
if(MLIR_DIR)
  list(APPEND configure "-DMLIR_DIR=${MLIR_DIR}")
endif()
if(REFUSED)
  execute_process(COMMAND ${configure} RESULT_VARIABLE result
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(result EQUAL 0 OR NOT output MATCHES "${REFUSED}")
    message(FATAL_ERROR "expected '${REFUSED}', but got: ${output}")
  endif()
  return()
endif()
run(${configure})
if(NOT BUILD)
  return()
endif()
run("${CMAKE_COMMAND}" --build "${WORK}/build")

# The C++ consumer prints the lowered kernel, the C one its version.
set(kernel "${WORK}/prefix/share/jfa/kernels/attention/sm90/fwd.mlir")
run("${WORK}/build/lower-kernel" "${kernel}" HEAD_DIM=64)
if(NOT output MATCHES "llvm.func @.*nvvm.kernel")
  message(FATAL_ERROR "expected a lowered kernel, but got: ${output}")
endif()
run("${WORK}/build/use-runtime")
run("${WORK}/build/use-compiler" "${kernel}")
if(NOT output MATCHES "\\.target sm_90a")
  message(FATAL_ERROR "expected PTX, but got: ${output}")
endif()
# What is installed works where it is, and as it is documented.
run("${WORK}/prefix/bin/jfa-opt" "${kernel}" --list-params)
# jfa-bench finds its modules, and the tables beside the kernels.
run("${CMAKE_COMMAND}" -E env PYTHONDONTWRITEBYTECODE=1
  "${PYTHON}" "${WORK}/prefix/bin/jfa-bench" "--tune-compile=${WORK}/tune"
  --only=HEAD_DIM=0 --jfa-opt=none)
if(NOT output MATCHES "0 specialisations, 0 variants, 0 refused")
  message(FATAL_ERROR "expected no specialisation, but got: ${output}")
endif()
run("${PYTHON}" "${ROOT}/test/Package/check_document.py"
  "${ROOT}/docs/Embedding.md" "${ROOT}" "${WORK}/prefix")
