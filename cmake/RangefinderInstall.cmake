# What `cmake --install` leaves: library, headers, command, CMake package with components, pkg-config file, documents.
# The tree may be moved afterwards: nothing in it knows where it was installed. Each file is of one of three components,
# which become packages (RangefinderPackage.cmake): library, what programs load; command; development, what they are
# built with. A wheel (pyproject.toml) has all of it, and the sources of the component for LibTorch.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rangefinder)
set(namelink NAMELINK_COMPONENT development)
if(RANGEFINDER_ONE_FILE_LIBRARIES)
  set(namelink NAMELINK_SKIP)
endif()

# rangefinder_install_component(COMPONENT TARGET...): the targets, as rangefinder::*, in an export set of their own, which
# the package loads when that component is asked for.
function(rangefinder_install_component component)
  install(TARGETS ${ARGN} EXPORT rangefinder-${component}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library ${namelink}
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
  install(EXPORT rangefinder-${component} NAMESPACE rangefinder:: DESTINATION ${package_dir} COMPONENT development)
endfunction()

rangefinder_install_component(core rangefinder)
set(components core)

if(TARGET rangefinder_injection)  # not for linking: the command, or a variable, names it
  set_property(TARGET rangefinder_injection PROPERTY INSTALL_RPATH "$ORIGIN")
  install(TARGETS rangefinder_injection LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
endif()

if(TARGET rangefinder_nccl)  # not for linking: NCCL loads it by the name that a variable has
  set_property(TARGET rangefinder_nccl PROPERTY INSTALL_RPATH "$ORIGIN")
  install(TARGETS rangefinder_nccl LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
endif()

if(TARGET rangefinder_parquet)  # not for linking: an export loads it
  set_property(TARGET rangefinder_parquet PROPERTY INSTALL_RPATH "$ORIGIN;${ArrowParquet_LIBRARY_DIR}")
  install(TARGETS rangefinder_parquet LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
endif()

if(TARGET rangefinder_torch)
  set_property(TARGET rangefinder_torch PROPERTY INSTALL_RPATH "$ORIGIN")
  rangefinder_install_component(torch rangefinder_torch)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindLibTorch.cmake DESTINATION ${package_dir} COMPONENT development)
  list(APPEND components torch)
endif()

if(TARGET rangefinder_bench_library)
  set_property(TARGET rangefinder_bench_library PROPERTY INSTALL_RPATH "$ORIGIN")
  rangefinder_install_component(bench rangefinder_bench_library)
  list(APPEND components bench)
endif()

if(TARGET rangefinder_cli)
  if(NOT RANGEFINDER_ONE_FILE_COMMAND)  # which looks for no library of ours
    file(RELATIVE_PATH to_library /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
    set_property(TARGET rangefinder_cli PROPERTY INSTALL_RPATH "$ORIGIN/${to_library}")
  endif()
  rangefinder_install_component(cli rangefinder_cli)
  list(APPEND components cli)
endif()
if(TARGET rangefinder_cli_pages)
  set(pages ${PROJECT_BINARY_DIR}/lib/cli)
  set(mandir ${CMAKE_INSTALL_MANDIR})
  set(datadir ${CMAKE_INSTALL_DATADIR})
  if(SKBUILD)  # into the environment's own share, where man and shells look
    set(datadir ${SKBUILD_DATA_DIR}/share)
    set(mandir ${datadir}/man)
  endif()
  install(FILES ${pages}/rangefinder.1 DESTINATION ${mandir}/man1 COMPONENT command)
  install(FILES ${pages}/rangefinder.bash RENAME rangefinder
    DESTINATION ${datadir}/bash-completion/completions COMPONENT command)
  install(FILES ${pages}/_rangefinder DESTINATION ${datadir}/zsh/site-functions COMPONENT command)
  install(FILES ${pages}/rangefinder.fish DESTINATION ${datadir}/fish/vendor_completions.d COMPONENT command)
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/rangefinderConfig.cmake.in
  ${PROJECT_BINARY_DIR}/rangefinderConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rangefinderConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rangefinderConfig.cmake ${PROJECT_BINARY_DIR}/rangefinderConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT development)

if(NOT RANGEFINDER_ONE_FILE_LIBRARIES)  # -lrangefinder needs the link
  file(RELATIVE_PATH pkgconfig_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" pkgconfig_to_prefix "${pkgconfig_to_prefix}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/rangefinder.pc.in ${PROJECT_BINARY_DIR}/rangefinder.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/rangefinder.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endif()

install(FILES LICENSE README.md CHANGELOG.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)

if(RANGEFINDER_STATIC_DEPENDENCIES)  # their code is in what is installed, so their licences go with it
  foreach(package libzstd-dev zlib1g-dev libdeflate-dev libsqlite3-dev libfmt-dev libxxhash-dev libprotozero-dev libcli11-dev
      nlohmann-json3-dev)
    if(EXISTS /usr/share/doc/${package}/copyright)
      install(FILES /usr/share/doc/${package}/copyright RENAME ${package}.txt
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses COMPONENT library)
    endif()
  endforeach()
endif()

# python -m rangefinder build-torch compiles these for the LibTorch that it finds.
if(SKBUILD AND RANGEFINDER_RECORDING)
  set(torch_source ${CMAKE_INSTALL_DATADIR}/rangefinder/torch)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/lib/source/torch DESTINATION ${torch_source}/lib/source
    FILES_MATCHING PATTERN "*.cpp" PATTERN "*.hpp")
  foreach(file capi/torch.cpp capi/status.hpp capi/structs.hpp capi/text.hpp base/forced_unwind.hpp)
    get_filename_component(folder ${file} DIRECTORY)
    install(FILES ${PROJECT_SOURCE_DIR}/lib/${file} DESTINATION ${torch_source}/lib/${folder})
  endforeach()
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/rangefinder.map DESTINATION ${torch_source})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rangefinder/torch DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rangefinder)
  install(FILES ${PROJECT_SOURCE_DIR}/include/rangefinder/c/torch.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rangefinder/c)
endif()
