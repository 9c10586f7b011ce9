// SPDX-License-Identifier: MIT
#include "exporter/parquet/parquet_library.hpp"

#include "base/library.hpp"
#include "exporter/parquet/parquet_writer.h"

#include <rangefinder/version.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace rangefinder::parquet {
namespace {

std::string library_name() { return "librangefinder_parquet.so." + std::to_string(RANGEFINDER_VERSION_MAJOR); }

/// With the slash at its end; empty where it is not known.
std::string folder_of_this_library() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&folder_of_this_library), &info) == 0 || info.dli_fname == nullptr)
    return {};
  const std::string file = info.dli_fname;
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? std::string() : file.substr(0, slash + 1);
}

std::vector<std::string> places() {
  std::vector<std::string> places;
  if (const char* const named = std::getenv("RANGEFINDER_PARQUET_LIBRARY"); named != nullptr && *named != '\0')
    return {named};
  if (const std::string folder = folder_of_this_library(); !folder.empty()) places.push_back(folder + library_name());
  places.push_back(library_name());
  return places;
}

Error not_there(const std::string& reason) {
  return Error(ErrorCode::kUnsupported, "Parquet: the component " + library_name() + " cannot be loaded (" + reason +
                                            "). Export from Python (pip install pyarrow; rangefinder.export_parquet), "
                                            "build with RANGEFINDER_PARQUET=ON and RANGEFINDER_PYARROW_DIR set to its "
                                            "folder, or name the library in RANGEFINDER_PARQUET_LIBRARY");
}

}  // namespace

Result<const rf_parquet_writer*> load_parquet_writer() {
  std::string reason;
  for (const std::string& place : places()) {
    const Result<base::Library> library = base::Library::open(place);
    if (!library) {
      if (reason.empty()) reason = library.error().message();
      continue;
    }
    const auto version = library->function<decltype(&rf_parquet_abi_version)>("rf_parquet_abi_version");
    const auto writer = library->function<decltype(&rf_parquet_arrow_writer)>("rf_parquet_arrow_writer");
    if (version == nullptr || writer == nullptr || version() != RF_PARQUET_ABI_VERSION)
      return not_there(place + " is of another version");
    return writer();
  }
  return not_there(reason);
}

}  // namespace rangefinder::parquet
