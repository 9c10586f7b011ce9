// SPDX-License-Identifier: MIT
#include "session/record_output.hpp"

#include "base/file.hpp"
#include "session/options.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace rangefinder::session {
namespace {

/// 0, or why not.
int make_empty(const std::string& path) noexcept {
  const base::Fd made(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  return made.valid() ? 0 : errno;
}

}  // namespace

std::string claim_record_output() {
  const char* const asked = environment("RANGEFINDER_RECORD");
  if (asked == nullptr || asked[0] == '\0') return {};
  constexpr unsigned kMostOfAProcess = 1000;
  const std::string first = resolve_output(asked);
  const std::string of_process = with_number(first, static_cast<std::uint64_t>(::getpid()));
  for (unsigned i = 0; i < kMostOfAProcess; ++i) {
    const std::string path = i == 0 ? first : i == 1 ? of_process : with_number(of_process, i);
    const int error = make_empty(path);
    if (error == 0) return path;
    if (error != EEXIST) return {};
  }
  return {};
}

}  // namespace rangefinder::session
