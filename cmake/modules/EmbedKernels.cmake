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

# Lists the specialisations of the attention forward that are shipped, each as
# one string of the compiler's options:
#
#   jfa_attention_forward_specializations(variable)
#   foreach(options IN LISTS variable)
#     separate_arguments(options)   # -D;HEAD_DIM=128;-D;CAUSAL=true;...
function(jfa_attention_forward_specializations variable)
  set(result "")
  foreach(head_dim 64 128)
    foreach(causal false true)
      foreach(element bf16 f16)
        foreach(mode "false;false" "true;false" "true;true")
          list(GET mode 0 jagged)
          list(GET mode 1 broadcast)
          string(CONCAT options
            "-D HEAD_DIM=${head_dim} -D CAUSAL=${causal} "
            "-D ELEMENT=${element} -D JAGGED=${jagged} "
            "-D BROADCAST_QUERY=${broadcast}")
          list(APPEND result "${options}")
        endforeach()
      endforeach()
    endforeach()
  endforeach()
  set(${variable} "${result}" PARENT_SCOPE)
endfunction()
