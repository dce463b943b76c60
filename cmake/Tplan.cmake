# One line adds a dialect, a phase or a tool; what they share stands here.

# tplan_headers(): cmake/Headers.h, parsed once, its templates instantiated once: otherwise that
# takes more than half of the time for a file of the compiler. It includes the dialects below.
function(tplan_headers)
  add_library(tplan_headers OBJECT ${CMAKE_SOURCE_DIR}/cmake/Headers.cpp)
  target_precompile_headers(tplan_headers PRIVATE ${CMAKE_SOURCE_DIR}/cmake/Headers.h)
endfunction()

# tplan_structs(): the table of the C structs that the compiler fills, lib/Lower/Host/Structs.inc.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
function(tplan_structs)
  set(script ${CMAKE_SOURCE_DIR}/cmake/structs.py)
  set(headers ${CMAKE_SOURCE_DIR}/include/tplan/attention.h ${CMAKE_SOURCE_DIR}/include/tplan/runtime.h)
  set(out ${CMAKE_BINARY_DIR}/lib/Lower/Host/Structs.inc)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/lib/Lower/Host
    COMMAND ${Python3_EXECUTABLE} ${script} ${headers} -o ${out}
    DEPENDS ${script} ${headers} VERBATIM)
  add_custom_target(tplan_structs_gen DEPENDS ${out})
  set_property(GLOBAL APPEND PROPERTY TPLAN_GEN tplan_structs_gen)
endfunction()

function(_tplan_precompiled name)
  target_precompile_headers(${name} REUSE_FROM tplan_headers)
endfunction()

# tplan_dialect(nn NN): dialects/nn/NN.td -> NN*.inc, library tplan_nn.
function(tplan_dialect name base)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  set(dir ${CMAKE_CURRENT_SOURCE_DIR}/dialects/${name})
  set(gen ${CMAKE_CURRENT_BINARY_DIR}/dialects/${name})
  set(outs)
  foreach(kind IN ITEMS "Ops;op" "Types;typedef" "Attrs;attrdef" "Enums;enum" "Interfaces;op-interface"
          "Dialect;dialect")
    list(GET kind 0 suffix)
    list(GET kind 1 flag)
    set(only)
    set(td ${dir}/${base}.td)
    if(EXISTS ${dir}/${base}${suffix}.td) # enums and interfaces know no filter by dialect
      set(td ${dir}/${base}${suffix}.td)
    endif()
    if(flag STREQUAL "op") # the .td of another dialect may be included
      set(only "-op-include-regex=^${name}\\.")
    elseif(NOT flag STREQUAL "enum"
       AND NOT flag STREQUAL "op-interface")
      set(only -${flag}s-dialect=${name})
      if(flag STREQUAL "dialect")
        set(only -dialect=${name})
      endif()
    endif()
    foreach(part IN ITEMS decls defs)
      if(part STREQUAL "decls")
        set(ext .h.inc)
      else()
        set(ext .cpp.inc)
      endif()
      set(out ${gen}/${base}${suffix}${ext})
      add_custom_command(OUTPUT ${out}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${gen}
        COMMAND ${MLIR_TABLEGEN_EXE} -gen-${flag}-${part} ${only} -I ${MLIR_TD_INCLUDE}
                -I ${CMAKE_CURRENT_SOURCE_DIR} ${td} --write-if-changed -o ${out} -d ${out}.d
        DEPFILE ${out}.d DEPENDS ${td} VERBATIM)
      list(APPEND outs ${out})
    endforeach()
  endforeach()
  add_custom_target(tplan_${name}_gen DEPENDS ${outs})
  add_dependencies(tplan_headers tplan_${name}_gen)
  set_property(GLOBAL APPEND PROPERTY TPLAN_GEN tplan_${name}_gen)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/dialects/${name}/*.cpp)
  _tplan_library(tplan_${name} "${sources}" "${ARG_LINKS}")
endfunction()

# _tplan_passes(Fuse): lib/Fuse/Passes.td -> lib/Fuse/Passes.h.inc, where there is one.
function(_tplan_passes name)
  set(td ${CMAKE_SOURCE_DIR}/lib/${name}/Passes.td)
  if(NOT EXISTS ${td})
    return()
  endif()
  set(out ${CMAKE_BINARY_DIR}/lib/${name}/Passes.h.inc)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/lib/${name}
    COMMAND ${MLIR_TABLEGEN_EXE} -gen-pass-decls -I ${MLIR_TD_INCLUDE} ${td}
            --write-if-changed -o ${out} -d ${out}.d
    DEPFILE ${out}.d DEPENDS ${td} VERBATIM)
  add_custom_target(tplan_${name}_passes DEPENDS ${out})
  set_property(GLOBAL APPEND PROPERTY TPLAN_GEN tplan_${name}_passes)
endfunction()

# tplan_phase(Fuse LINKS tplan_rt): every .cpp in lib/Fuse and its folders, library
# tplan_Fuse, which the driver links; its passes are declared in lib/Fuse/Passes.td.
function(tplan_phase name)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  _tplan_passes(${name})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/lib/${name}/*.cpp
    ${CMAKE_CURRENT_SOURCE_DIR}/lib/${name}/*/*.cpp)
  _tplan_library(tplan_${name} "${sources}" "${ARG_LINKS}")
  set_property(GLOBAL APPEND PROPERTY TPLAN_PHASES tplan_${name})
endfunction()

# tplan_library(Verify LINKS tplan_Driver): every .cpp in lib/Verify, library tplan_Verify.
function(tplan_library name)
  cmake_parse_arguments(ARG "" "" "LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/lib/${name}/*.cpp)
  _tplan_library(tplan_${name} "${sources}" "${ARG_LINKS}")
endfunction()

# tplan_driver(): lib/Driver, linked with every dialect and every phase above.
function(tplan_driver)
  get_property(phases GLOBAL PROPERTY TPLAN_PHASES)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/lib/Driver/*.cpp)
  _tplan_library(tplan_Driver "${sources}" "${phases};tplan_tplan;tplan_rt")
endfunction()

# tplan_tool(tplanc LINKS tplan_Driver): tools/tplanc.cpp -> build/bin/tplanc. SOURCES: others
# than that one; ON_REQUEST: not part of all.
function(tplan_tool name)
  cmake_parse_arguments(ARG "ON_REQUEST" "" "SOURCES;LINKS" ${ARGN})
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES tools/${name}.cpp)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ${ARG_ON_REQUEST})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} MLIR LLVM)
  _tplan_precompiled(${name})
endfunction()

function(_tplan_library name sources links)
  add_library(${name} STATIC ${sources})
  get_property(gen GLOBAL PROPERTY TPLAN_GEN)
  add_dependencies(${name} ${gen})
  target_link_libraries(${name} PUBLIC ${links})
  _tplan_precompiled(${name})
endfunction()

# tplan_unittest(attention-test SOURCES test/lower/attention-*.cpp LINKS tplan_Lower):
# a GoogleTest binary, build/bin/attention-test.
function(tplan_unittest name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${ARG_SOURCES})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} GTest::gtest_main MLIR LLVM)
  if(ARG_LINKS)
    _tplan_precompiled(${name})
  endif()
endfunction()
