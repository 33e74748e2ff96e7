# Rules that put compiled kernels into the runtime library.

# Links bundles of kernels into a target and defines the table of them,
# jfaEmbeddedBundles, which the target must have exactly once; without bundles
# the table is empty.
#
#   jfa_embed_kernels(<target> [BUNDLES <file>...] [DEPENDS <target>...])
#
# A bundle may be the output of a custom command; name the target that drives
# the command under DEPENDS if it belongs to another directory.
function(jfa_embed_kernels target)
  cmake_parse_arguments(ARG "" "" "BUNDLES;DEPENDS" ${ARGN})
  # The assembler reads the bundle itself, which is faster than compiling a
  # C array and keeps the bytes as they are.
  set(code "")
  set(table "")
  set(index 0)
  foreach(bundle IN LISTS ARG_BUNDLES)
    get_filename_component(bundle "${bundle}" ABSOLUTE)
    string(APPEND code
      "  .balign 16\n"
      ".Lbegin${index}:\n"
      "  .incbin \"${bundle}\"\n"
      ".Lend${index}:\n")
    string(APPEND table "  .quad .Lbegin${index}, .Lend${index}\n")
    math(EXPR index "${index} + 1")
    list(APPEND bundles "${bundle}")
  endforeach()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}EmbeddedKernels.s")
  file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT
"  .section .rodata
@code@  .section .data.rel.ro.local, \"aw\"
  .balign 8
  .globl jfaEmbeddedBundles
  .hidden jfaEmbeddedBundles
  .type jfaEmbeddedBundles, @object
jfaEmbeddedBundles:
@table@  .quad 0, 0
  .size jfaEmbeddedBundles, . - jfaEmbeddedBundles
  .section .note.GNU-stack, \"\", @progbits
")
  # The C compiler driver assembles it; no further language needs enabling.
  set_source_files_properties("${source}" PROPERTIES
    LANGUAGE C
    COMPILE_OPTIONS "-x;assembler;-Wno-unused-command-line-argument"
    OBJECT_DEPENDS "${bundles}")
  target_sources(${target} PRIVATE "${source}")
  if(ARG_DEPENDS)
    add_dependencies(${target} ${ARG_DEPENDS})
  endif()
endfunction()

# Reads a table of specialisations: the first line that is neither empty nor a
# comment names parameters, each further one gives their values for a kernel, and
# `a,b` stands for one kernel for each value. Every element of the result is one
# kernel as jfa-opt's option --specialize wants it, NAME=VALUE,NAME=VALUE,...
#
#   jfa_read_specializations(<variable> <file>)
function(jfa_read_specializations variable file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  file(STRINGS "${file}" lines REGEX "^ *[^# ]")
  set(names "")
  set(result "")
  foreach(line IN LISTS lines)
    string(STRIP "${line}" line)
    string(REGEX REPLACE "[ \t]+" ";" values "${line}")
    if(NOT names)
      set(names "${values}")
      continue()
    endif()
    list(LENGTH names expected)
    list(LENGTH values got)
    if(NOT got EQUAL expected)
      message(FATAL_ERROR
        "${file}: expected ${expected} values, but got ${got}: ${line}")
    endif()
    set(kernels "")
    foreach(name value IN ZIP_LISTS names values)
      string(REPLACE "," ";" choices "${value}")
      set(extended "")
      foreach(choice IN LISTS choices)
        if(kernels)
          foreach(kernel IN LISTS kernels)
            list(APPEND extended "${kernel},${name}=${choice}")
          endforeach()
        else()
          list(APPEND extended "${name}=${choice}")
        endif()
      endforeach()
      set(kernels "${extended}")
    endforeach()
    list(APPEND result ${kernels})
  endforeach()
  set(${variable} "${result}" PARENT_SCOPE)
endfunction()

# Looks for ptxas where jfa-opt does (the option, JFA_PTXAS, PATH, CUDA_HOME,
# CUDA_PATH) and sets the cache variable JFA_PTXAS.
macro(jfa_find_ptxas)
  if(NOT JFA_PTXAS AND NOT "$ENV{JFA_PTXAS}" STREQUAL "")
    set(JFA_PTXAS "$ENV{JFA_PTXAS}" CACHE FILEPATH "NVIDIA's assembler" FORCE)
  endif()
  find_program(JFA_PTXAS ptxas
    PATHS "$ENV{CUDA_HOME}/bin" "$ENV{CUDA_PATH}/bin" NO_CMAKE_SYSTEM_PATH
    DOC "NVIDIA's assembler, which compiling the embedded kernels needs")
endmacro()

# Compiles the specialisations of a kernel into one bundle with the jfa-opt of
# this build.
#
#   jfa_compile_bundle(<target> <bundle> SOURCE <file>
#     ARCH <arch> SPECIALIZATIONS <file>)
function(jfa_compile_bundle target bundle)
  cmake_parse_arguments(ARG "" "SOURCE;ARCH;SPECIALIZATIONS" "" ${ARGN})
  jfa_read_specializations(kernels "${ARG_SPECIALIZATIONS}")
  list(LENGTH kernels count)
  list(TRANSFORM kernels PREPEND "--specialize=")
  get_filename_component(name "${ARG_SOURCE}" NAME)
  string(REGEX REPLACE "\\.[^.]*$" ".json" manifest "${bundle}")
  add_custom_command(
    OUTPUT "${bundle}"
    BYPRODUCTS "${manifest}"
    COMMAND jfa-opt "${ARG_SOURCE}" --arch=${ARG_ARCH} ${kernels}
      --verify-protocol=strict --emit=bundle "--ptxas=${JFA_PTXAS}" -o "${bundle}"
    DEPENDS jfa-opt "${ARG_SOURCE}" "${JFA_PTXAS}"
    COMMENT "Compiling ${count} specialisations of ${name} for ${ARG_ARCH}"
    VERBATIM)
  add_custom_target(${target} DEPENDS "${bundle}")
endfunction()
