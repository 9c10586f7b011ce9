// SPDX-License-Identifier: MIT
#include "session/record_output.hpp"

#include "format/layout.hpp"
#include "session/options.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <exception>

namespace rangefinder::session {
namespace {

static_assert(offsetof(format::FileHeader, record_id) == base::kRecordIdAt);
static_assert(offsetof(format::LiveHeader, file_header) + base::kRecordIdAt == base::kLiveRecordIdAt);

std::int64_t written_ns(const struct stat& info) noexcept {
  return std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

/// Of a name that was asked for any plain file goes; of one that we have numbered, only what a record left.
bool is_of_earlier(const std::string& path, const struct stat& info, const base::RecordId& record, bool asked) {
  if (!S_ISREG(info.st_mode) || written_ns(info) > record.began_ns) return false;
  const std::uint64_t id = base::record_id_of_file(path);
  return id != record.id && (asked || id != 0) && !base::is_locked(path + ".live");
}

/// Two processes may be at it at once: the one that holds the file's lock takes it away, while it has that name.
bool remove_earlier(const std::string& path, const base::RecordId& record, bool asked) {
  const base::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW));
  struct stat opened {
  }, named{};
  if (!fd.valid() || !base::lock_file(fd) || ::fstat(fd.get(), &opened) != 0) return false;
  if (::lstat(path.c_str(), &named) != 0 || opened.st_ino != named.st_ino || opened.st_dev != named.st_dev)
    return false;
  return is_of_earlier(path, named, record, asked) && ::unlink(path.c_str()) == 0;
}

/// errno says why not.
base::Fd make_empty(const std::string& path) noexcept {
  return base::Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
}

base::Fd claim(const std::string& path, const base::RecordId& record, bool asked) {
  if (base::is_locked(path + ".live")) return errno = EEXIST, base::Fd();
  base::Fd made = make_empty(path);
  if (made.valid() || errno != EEXIST) return made;
  if (!remove_earlier(path, record, asked)) return errno = EEXIST, base::Fd();
  return make_empty(path);
}

}  // namespace

std::optional<base::RecordId> record_of_environment() noexcept {
  const char* const output = environment("RANGEFINDER_RECORD");
  if (output == nullptr || output[0] == '\0') return std::nullopt;
  const char* const id = environment(base::kRecordIdVariable);
  return base::record_id_of_text(id != nullptr ? id : "");
}

Result<ClaimedFile> claim_output(const std::string& asked, const base::RecordId& record) {
  constexpr unsigned kMostOfAProcess = 1000;
  const std::string of_process = with_number(asked, static_cast<std::uint64_t>(::getpid()));
  int error = EEXIST;
  for (unsigned i = 0; i < kMostOfAProcess && error == EEXIST; ++i) {
    const std::string path = i == 0 ? asked : i == 1 ? of_process : with_number(of_process, i);
    base::Fd made = claim(path, record, i == 0);
    if (made.valid()) return ClaimedFile{path, std::move(made)};
    error = errno;
  }
  return base::system_error("create", asked, error);
}

bool make_room(const std::string& numbered, const base::RecordId& record) noexcept try {
  return !base::exists(numbered) || remove_earlier(numbered, record, false);
} catch (const std::exception&) {
  return false;
}

}  // namespace rangefinder::session
