# Fails if a shared library defines a dynamic symbol that does not begin with
# jfa, other than the identities of MLIR's types, which all libraries share.
execute_process(COMMAND "${NM}" -D --defined-only --format=posix "${LIBRARY}"
  OUTPUT_VARIABLE output RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "could not list the symbols of ${LIBRARY}")
endif()
string(REGEX MATCHALL "[^\n]+" lines "${output}")
set(count 0)
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^(jfa|_ZZN4mlir6detail14TypeIDResolver|_ZGVZN4mlir6detail14TypeIDResolver)")
    message(SEND_ERROR "unexpected export: ${line}")
  endif()
  math(EXPR count "${count} + 1")
endforeach()
if(count EQUAL 0)
  message(FATAL_ERROR "${LIBRARY} exports nothing")
endif()
