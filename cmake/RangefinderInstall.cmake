# What `cmake --install` leaves: library, headers, command, CMake package with components, pkg-config file, documents.
# The tree may be moved afterwards: nothing in it knows where it was installed.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rangefinder)

# rangefinder_install_component(COMPONENT TARGET...): the targets, as rangefinder::*, in an export set of their own, which
# the package loads when that component is asked for.
function(rangefinder_install_component component)
  install(TARGETS ${ARGN} EXPORT rangefinder-${component}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT rangefinder-${component} NAMESPACE rangefinder:: DESTINATION ${package_dir})
endfunction()

rangefinder_install_component(core rangefinder)
set(components core)

if(TARGET rangefinder_injection)  # not for linking: the command, or a variable, names it
  set_property(TARGET rangefinder_injection PROPERTY INSTALL_RPATH "$ORIGIN")
  install(TARGETS rangefinder_injection LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

if(TARGET rangefinder_nccl)  # not for linking: NCCL loads it by the name that a variable has
  set_property(TARGET rangefinder_nccl PROPERTY INSTALL_RPATH "$ORIGIN")
  install(TARGETS rangefinder_nccl LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

if(TARGET rangefinder_torch)
  set_property(TARGET rangefinder_torch PROPERTY INSTALL_RPATH "$ORIGIN")
  rangefinder_install_component(torch rangefinder_torch)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindLibTorch.cmake DESTINATION ${package_dir})
  list(APPEND components torch)
endif()

if(TARGET rangefinder_bench_library)
  set_property(TARGET rangefinder_bench_library PROPERTY INSTALL_RPATH "$ORIGIN")
  rangefinder_install_component(bench rangefinder_bench_library)
  list(APPEND components bench)
endif()

if(TARGET rangefinder_cli)
  file(RELATIVE_PATH to_library /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  set_property(TARGET rangefinder_cli PROPERTY INSTALL_RPATH "$ORIGIN/${to_library}")
  rangefinder_install_component(cli rangefinder_cli)
  list(APPEND components cli)
endif()
if(TARGET rangefinder_cli_pages)
  set(pages ${PROJECT_BINARY_DIR}/lib/cli)
  install(FILES ${pages}/rangefinder.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${pages}/rangefinder.bash RENAME rangefinder
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${pages}/_rangefinder DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${pages}/rangefinder.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/rangefinderConfig.cmake.in
  ${PROJECT_BINARY_DIR}/rangefinderConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rangefinderConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rangefinderConfig.cmake ${PROJECT_BINARY_DIR}/rangefinderConfigVersion.cmake
  DESTINATION ${package_dir})

file(RELATIVE_PATH pkgconfig_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pkgconfig_to_prefix "${pkgconfig_to_prefix}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/rangefinder.pc.in ${PROJECT_BINARY_DIR}/rangefinder.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/rangefinder.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES LICENSE README.md CHANGELOG.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
