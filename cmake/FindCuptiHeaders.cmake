# Finds the headers of CUPTI and NVTX 3 in a CUDA toolkit, or in the Python wheels that carry the same files.
# Sets RANGEFINDER_CUPTI_HEADERS and RANGEFINDER_NVTX_HEADERS; either may be missing.
set(_hints ${CUDAToolkit_ROOT} $ENV{CUDAToolkit_ROOT} $ENV{CUDA_HOME} $ENV{CUDA_PATH})
file(GLOB _wheels LIST_DIRECTORIES true
  ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/cu13)
set(_paths ${_wheels} /usr/local/cuda /opt/cuda)

# The structs that are decoded are those of CUDA 13.0; a machine's older toolkit is passed over for the wheels.
function(_cupti_is_new_enough result folder)
  set(version 0)
  if(EXISTS ${folder}/cupti_version.h)
    file(STRINGS ${folder}/cupti_version.h line REGEX "^#define CUPTI_API_VERSION ")
    string(REGEX MATCH "[0-9]+$" version "${line}")
  endif()
  if(version LESS 130000)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

find_path(RANGEFINDER_CUPTI_HEADERS cupti.h HINTS ${_hints} PATHS ${_paths}
  PATH_SUFFIXES include extras/CUPTI/include targets/x86_64-linux/include VALIDATOR _cupti_is_new_enough)
find_path(RANGEFINDER_NVTX_HEADERS nvtx3/nvToolsExt.h HINTS ${_hints} PATHS ${_paths}
  PATH_SUFFIXES include targets/x86_64-linux/include)
# cupti.h includes cuda.h and headers of the compiler (in wheels: nvidia-cuda-crt), which may stand elsewhere.
function(_cuda_is_whole result folder)
  if(NOT EXISTS ${folder}/crt/host_defines.h)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()
if(RANGEFINDER_CUPTI_HEADERS)
  find_path(RANGEFINDER_CUDA_HEADERS cuda.h HINTS ${RANGEFINDER_CUPTI_HEADERS} ${_hints} PATHS ${_paths}
    PATH_SUFFIXES include targets/x86_64-linux/include VALIDATOR _cuda_is_whole)
  if(NOT RANGEFINDER_CUDA_HEADERS)
    unset(RANGEFINDER_CUPTI_HEADERS CACHE)
  endif()
endif()
mark_as_advanced(RANGEFINDER_CUPTI_HEADERS RANGEFINDER_NVTX_HEADERS RANGEFINDER_CUDA_HEADERS)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CuptiHeaders REQUIRED_VARS RANGEFINDER_CUPTI_HEADERS)
