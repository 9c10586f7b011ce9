# Finds Arrow C++ with Parquet in the wheel of pyarrow, which carries headers and libraries but no CMake package. Looks at
# RANGEFINDER_PYARROW_DIR (the folder pyarrow), the project's .venv, and the Python that is active.
# Defines the target ArrowParquet::ArrowParquet, ArrowParquet_VERSION and ArrowParquet_LIBRARY_DIR.
file(GLOB _arrow_venv LIST_DIRECTORIES true ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/pyarrow)
if(DEFINED ENV{VIRTUAL_ENV})
  file(GLOB _arrow_active LIST_DIRECTORIES true $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/pyarrow)
endif()
find_path(ArrowParquet_ROOT_DIR include/parquet/arrow/writer.h
  HINTS ${RANGEFINDER_PYARROW_DIR} ${_arrow_venv} ${_arrow_active} NO_DEFAULT_PATH)
mark_as_advanced(ArrowParquet_ROOT_DIR)
set(ArrowParquet_LIBRARY_DIR ${ArrowParquet_ROOT_DIR})
# The names have the version: libarrow.so.2600 is Arrow 26.0. The wheel has no unversioned ones unless
# pyarrow.create_library_symlinks() made them, and it may stand where that cannot write.
foreach(library arrow parquet)
  file(GLOB _arrow_files ${ArrowParquet_ROOT_DIR}/lib${library}.so.[0-9]*)
  list(FILTER _arrow_files EXCLUDE REGEX "so\\.[0-9]+\\.")
  list(POP_FRONT _arrow_files _arrow_${library})
endforeach()
if(ArrowParquet_ROOT_DIR AND EXISTS ${ArrowParquet_ROOT_DIR}/include/arrow/util/config.h)
  file(STRINGS ${ArrowParquet_ROOT_DIR}/include/arrow/util/config.h _arrow_line REGEX "^#define ARROW_VERSION_STRING ")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" ArrowParquet_VERSION "${_arrow_line}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ArrowParquet REQUIRED_VARS ArrowParquet_ROOT_DIR _arrow_arrow _arrow_parquet
  VERSION_VAR ArrowParquet_VERSION REASON_FAILURE_MESSAGE "pip install pyarrow, and set RANGEFINDER_PYARROW_DIR to its folder")

if(ArrowParquet_FOUND AND NOT TARGET ArrowParquet::ArrowParquet)
  add_library(ArrowParquet::ArrowParquet INTERFACE IMPORTED)
  set_target_properties(ArrowParquet::ArrowParquet PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${ArrowParquet_ROOT_DIR}/include"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${ArrowParquet_ROOT_DIR}/include"
    INTERFACE_COMPILE_DEFINITIONS "_GLIBCXX_USE_CXX11_ABI=1"
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_LINK_LIBRARIES "${_arrow_arrow};${_arrow_parquet}")
endif()
