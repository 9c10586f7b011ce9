// SPDX-License-Identifier: MIT
#include "bench/rendezvous.hpp"

#include "base/file.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace rangefinder::bench {

Result<Rendezvous> Rendezvous::create() {
  std::error_code code;
  std::string folder = (std::filesystem::temp_directory_path(code) / "rangefinder-ranks-XXXXXX").string();
  if (code) return base::system_error("find", "a folder for temporary files", code.value());
  if (::mkdtemp(folder.data()) == nullptr) return base::system_error("create", folder, errno);
  return Rendezvous(std::move(folder));
}

Rendezvous::~Rendezvous() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

}  // namespace rangefinder::bench
