# The library that others link: plans and the kernels' CUDA code behind the C interface of kernels/danaus.h, without the
# executor, the reference and what they need. cmake --install BUILD --prefix WHERE.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

foreach(KIND IN ITEMS shared static)
  string(TOUPPER ${KIND} TYPE)
  add_library(danaus_${KIND} ${TYPE} kernels/danaus.cpp
    $<TARGET_OBJECTS:danaus_plan> $<TARGET_OBJECTS:danaus_operations>)
  set_target_properties(danaus_${KIND} PROPERTIES
    OUTPUT_NAME danaus EXPORT_NAME ${KIND} VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON LINKER_LANGUAGE CXX)
  target_include_directories(danaus_${KIND}
    PRIVATE ${PROJECT_SOURCE_DIR} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_definitions(danaus_${KIND} PRIVATE DANAUS_VERSION="${PROJECT_VERSION}"
    $<TARGET_PROPERTY:danaus_plan,INTERFACE_COMPILE_DEFINITIONS>)
  if(DANAUS_CUDA_ENABLED)
    target_link_libraries(danaus_${KIND} PRIVATE CUDA::cudart_static)
  endif()
endforeach()
# Only the C interface leaves it.
target_link_options(danaus_shared PRIVATE -Wl,--exclude-libs,ALL
  -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/danaus.map)

install(TARGETS danaus_shared danaus_static EXPORT danaus-targets)
install(FILES kernels/danaus.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT danaus-targets NAMESPACE danaus:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/danaus)
configure_package_config_file(cmake/danaus-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/danaus-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/danaus)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/danaus-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/danaus-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/danaus-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/danaus)
