# What `cmake --install` puts where, and the tarball of cpack. Nothing installed names a folder of the build: all
# of it may be moved. `cmake --build build --target tplanc tplan_runtime` is enough before either.

set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON) # neither builds the tests

# LLVM's libraries beside the compiler, where the tarball has them, else the machine's.
set_target_properties(tplanc PROPERTIES INSTALL_RPATH "$ORIGIN/../lib;${LLVM_LIBRARY_DIRS}")
install(TARGETS tplanc RUNTIME_DEPENDENCY_SET tplan_libraries RUNTIME DESTINATION bin)
install(TARGETS tplan_runtime ARCHIVE DESTINATION lib)
install(FILES include/tplan/train.h DESTINATION include/tplan)
install(DIRECTORY models DESTINATION share/tplan FILES_MATCHING PATTERN *.tplan)
install(DIRECTORY examples DESTINATION share/tplan)
install(FILES LICENSE README.md DESTINATION share/doc/tplan)

include(CMakePackageConfigHelpers)
set(package ${CMAKE_BINARY_DIR}/package)
configure_file(cmake/package/tplan-config.cmake.in ${package}/tplan-config.cmake @ONLY)
configure_file(cmake/package/tplan.pc.in ${package}/tplan.pc @ONLY)
write_basic_package_version_file(${package}/tplan-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${package}/tplan-config.cmake ${package}/tplan-config-version.cmake DESTINATION lib/cmake/tplan)
install(FILES ${package}/tplan.pc DESTINATION lib/pkgconfig)

# The tarball runs where there is no LLVM: it has LLVM's libraries and those that they need, except
# the ones that every machine with a linker has.
install(RUNTIME_DEPENDENCY_SET tplan_libraries DESTINATION lib COMPONENT libraries EXCLUDE_FROM_ALL
  PRE_EXCLUDE_REGEXES "^(ld-linux|libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\\+\\+)[.-]"
  DIRECTORIES ${LLVM_LIBRARY_DIRS})
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME tplan)
set(CPACK_PACKAGE_FILE_NAME tplan-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_COMPONENTS_ALL Unspecified libraries)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_THREADS 0)
include(CPack)
