# Debian packages of what `cmake --install` leaves, for the Debian or Ubuntu that they are built on:
#   cmake --preset deb && cmake --build build/deb && cpack --config build/deb/CPackConfig.cmake
# ./dev deb does it. What each needs of other packages is found by dpkg-shlibdeps.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rangefinder)
set(CPACK_PACKAGE_VENDOR rangefinder)
set(CPACK_PACKAGE_CONTACT "rangefinder developers <packages@rangefinder.invalid>")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library command development)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib ${PROJECT_BINARY_DIR}/lib/bench)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_COMPONENT_COMMAND_DEPENDS library)
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS library command)  # the CMake package has a target for the command

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME librangefinder${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "${PROJECT_DESCRIPTION}
The library that programs load, the libraries that are injected into unmodified programs, and the plugin for NCCL.")
set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME rangefinder)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION devel)
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "${PROJECT_DESCRIPTION}
The command: records unmodified programs, reports, exports, with its manual page and completions.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME librangefinder-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${PROJECT_DESCRIPTION}
Headers, CMake package and pkg-config file.")
include(CPack)
