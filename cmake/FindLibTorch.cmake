# Finds LibTorch in a Python environment or an unpacked archive, without a CUDA toolkit: TorchConfig.cmake of a CUDA build
# wants nvcc even for programs that only link. Looks at LibTorch_ROOT, RANGEFINDER_TORCH_DIR, TORCH_DIR and the project's .venv.
# Defines the target LibTorch::LibTorch, LibTorch_VERSION and LibTorch_PYTHON, the interpreter of the wheel's environment
# (empty: LibTorch is of an archive).
file(GLOB _libtorch_venv LIST_DIRECTORIES true ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
find_path(LibTorch_ROOT_DIR include/torch/csrc/api/include/torch/torch.h
  HINTS ${LibTorch_ROOT} $ENV{LibTorch_ROOT} ${RANGEFINDER_TORCH_DIR} $ENV{TORCH_DIR} ${_libtorch_venv} NO_DEFAULT_PATH)
mark_as_advanced(LibTorch_ROOT_DIR)
foreach(file version.py build-version)  # of a wheel, of an archive
  if(LibTorch_ROOT_DIR AND NOT LibTorch_VERSION AND EXISTS ${LibTorch_ROOT_DIR}/${file})
    file(STRINGS ${LibTorch_ROOT_DIR}/${file} _libtorch_version REGEX "^(__version__ = '|)[0-9]+\\.")
    string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" LibTorch_VERSION "${_libtorch_version}")
  endif()
endforeach()
set(LibTorch_PYTHON "")
if(LibTorch_ROOT_DIR MATCHES "^(.*)/lib(64)?/python3[^/]*/(site|dist)-packages/torch$")
  if(EXISTS ${CMAKE_MATCH_1}/bin/python3)
    set(LibTorch_PYTHON ${CMAKE_MATCH_1}/bin/python3)
  endif()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch REQUIRED_VARS LibTorch_ROOT_DIR VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "set LibTorch_ROOT to the folder torch of a wheel, or to an unpacked LibTorch")

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  set_target_properties(LibTorch::LibTorch PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${LibTorch_ROOT_DIR}/include;${LibTorch_ROOT_DIR}/include/torch/csrc/api/include"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${LibTorch_ROOT_DIR}/include;${LibTorch_ROOT_DIR}/include/torch/csrc/api/include"
    INTERFACE_COMPILE_DEFINITIONS "_GLIBCXX_USE_CXX11_ABI=1"
    INTERFACE_COMPILE_FEATURES cxx_std_17)
  # libtorch_cuda registers itself when it is loaded; nothing refers to it by name, so the linker would leave it out.
  set(_libtorch_libraries ${LibTorch_ROOT_DIR}/lib/libtorch_cpu.so ${LibTorch_ROOT_DIR}/lib/libc10.so)
  if(EXISTS ${LibTorch_ROOT_DIR}/lib/libtorch_cuda.so)
    list(APPEND _libtorch_libraries
      -Wl,--no-as-needed ${LibTorch_ROOT_DIR}/lib/libtorch_cuda.so ${LibTorch_ROOT_DIR}/lib/libc10_cuda.so -Wl,--as-needed)
  endif()
  target_link_libraries(LibTorch::LibTorch INTERFACE ${_libtorch_libraries})
  # The wheels of CUDA's libraries stand beside torch; libtorch finds them by its own RPATH, the linker by this.
  file(GLOB _libtorch_nvidia LIST_DIRECTORIES true ${LibTorch_ROOT_DIR}/../nvidia/*/lib)
  foreach(folder IN LISTS _libtorch_nvidia)
    target_link_options(LibTorch::LibTorch INTERFACE "-Wl,-rpath-link,${folder}")
  endforeach()
endif()
