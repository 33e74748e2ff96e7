# Rules for the parts of JFA that link MLIR.

option(JFA_PRECOMPILE_HEADERS "Compile MLIR's headers once for all sources" ON)

# Most of the time that a source takes is MLIR's headers.
if(JFA_PRECOMPILE_HEADERS)
  # Unlike file(WRITE), this leaves a file that is there alone, so that configuring
  # again compiles nothing again.
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/jfa_precompiled.cpp" CONTENT "")
  add_library(jfa_precompiled OBJECT "${CMAKE_BINARY_DIR}/jfa_precompiled.cpp")
  target_compile_options(jfa_precompiled PRIVATE -fno-exceptions)
  target_precompile_headers(jfa_precompiled PRIVATE
    <mlir/Bytecode/BytecodeOpInterface.h>
    <mlir/Dialect/Arith/IR/Arith.h>
    <mlir/Dialect/LLVMIR/LLVMDialect.h>
    <mlir/Dialect/LLVMIR/NVVMDialect.h>
    <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Interfaces/FunctionInterfaces.h>
    <mlir/Interfaces/ViewLikeInterface.h>
    <mlir/IR/BuiltinTypes.h>
    <mlir/IR/OpImplementation.h>
    <mlir/Pass/PassManager.h>
    <mlir/Transforms/DialectConversion.h>)
endif()

function(jfa_precompile_headers target)
  if(JFA_PRECOMPILE_HEADERS)
    target_precompile_headers(${target} REUSE_FROM jfa_precompiled)
  endif()
endfunction()

# Adds one of JFA's compiler libraries. MLIR itself always comes from the shared
# library.
function(add_jfa_library name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  jfa_set_warnings(${name})
  # libMLIR is built without exceptions; a vtable that crosses the boundary must
  # agree on run-time type information, which Debian's package has.
  target_compile_options(${name} PRIVATE -fno-exceptions)
  jfa_precompile_headers(${name})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS} MLIR LLVM)
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${name} PUBLIC cxx_std_17)
  add_library(JFA::${name} ALIAS ${name})
  install(TARGETS ${name}
    EXPORT JFACompilerTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  set_property(GLOBAL APPEND PROPERTY JFA_COMPILER_LIBRARIES ${name})
endfunction()

# Adds one of JFA's tools that link MLIR.
function(add_jfa_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  jfa_set_warnings(${name})
  target_compile_options(${name} PRIVATE -fno-exceptions)
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} MLIR LLVM)
  install(TARGETS ${name}
    EXPORT JFACompilerTargets
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()
