// SPDX-License-Identifier: MIT
#include "session/options.hpp"

#include "base/host_name.hpp"
#include "base/text.hpp"
#include "session/option_table.hpp"

#include <errno.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <span>
#include <utility>

namespace rangefinder {

using std::string_view;

Status SessionOptions::apply(string_view config) {
  std::string problems;
  const auto complain = [&](std::string text) { problems += (problems.empty() ? "" : "; ") + std::move(text); };
  while (!config.empty()) {
    const std::size_t comma = config.find(',');
    string_view item = config.substr(0, comma);
    config.remove_prefix(comma == string_view::npos ? config.size() : comma + 1);
    if (item.empty()) continue;
    const std::size_t equals = item.find('=');
    const string_view key = item.substr(0, equals);
    const string_view value = equals == string_view::npos ? string_view{} : item.substr(equals + 1);
    if (key.starts_with("meta.") && key.size() > 5) {
      metadata.emplace_back(key.substr(5), value);
      continue;
    }
    const std::span<const session::Option> table = session::option_table();
    const auto known = std::find_if(table.begin(), table.end(), [&](const session::Option& o) { return o.key == key; });
    if (known == table.end()) {
      std::vector<string_view> names;
      for (const session::Option& option : table) names.push_back(option.key);
      const string_view near = base::nearest(key, names);
      complain("unknown key '" + base::printable(key) + "'" +
               (near.empty() ? "" : ", did you mean '" + std::string(near) + "'?"));
    } else if (!session::parse_option(*known, value, *this)) {
      complain(std::string(key) + ": '" + base::printable(value) + "' is not " + std::string(known->wanted));
    }
  }
  if (problems.empty()) return {};
  return Error(ErrorCode::kInvalidArgument, "configuration: " + problems);
}

Result<std::string> SessionOptions::config() const {
  if (Status status = session::check(*this); !status.ok()) return std::move(status).error();
  const SessionOptions defaults;
  std::string config;
  for (const session::Option& option : session::option_table()) {
    if (session::same_option(option, *this, defaults)) continue;
    Result<std::string> value = session::print_option(option, *this);
    if (!value) return value;
    config.append(config.empty() ? "" : ",").append(option.key).append("=").append(*value);
  }
  for (const auto& [key, value] : metadata) {
    if (key.empty() || key.find_first_of(",=") != std::string::npos || value.find(',') != std::string::npos)
      return Error(ErrorCode::kUnsupported, "metadata: a configuration cannot hold '" + base::printable(key) + "' = '" +
                                                base::printable(value) +
                                                "': keys have no comma and no equals sign, values no comma");
    config.append(config.empty() ? "" : ",").append("meta.").append(key).append("=").append(value);
  }
  return config;
}

namespace session {
namespace {

int number_of_variable(const char* name) noexcept {
  const char* const value = name != nullptr ? environment(name) : nullptr;
  if (value == nullptr) return -1;
  int number = 0;
  const char* const end = value + std::strlen(value);
  const auto [behind, error] = std::from_chars(value, end, number);
  return error == std::errc() && behind == end && number >= 0 ? number : -1;
}

struct Launcher {
  const char* rank;
  const char* size;
};
// Slurm last: what mpirun starts in a job of its has the batch script's rank there, too.
constexpr Launcher kLaunchers[] = {{"RANK", "WORLD_SIZE"},
                                   {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                   {"PMI_RANK", "PMI_SIZE"},
                                   {"PMIX_RANK", nullptr},
                                   {"SLURM_PROCID", "SLURM_NTASKS"}};

}  // namespace

const char* environment(const char* name) noexcept { return ::getauxval(AT_SECURE) != 0 ? nullptr : std::getenv(name); }

SessionOptions with_environment(SessionOptions options) {
  if (const char* config = environment("RANGEFINDER_CONFIG"); config != nullptr) {
    if (Status status = options.apply(config); !status.ok())
      log(LogLevel::kWarn, {"RANGEFINDER_CONFIG: ", status.error().message()});
  }
  return options;
}

const char* reason_not_to_record() noexcept {
  if (::getauxval(AT_SECURE) != 0) return "this process runs setuid, setgid or with file capabilities";
  const char* value = std::getenv("RANGEFINDER_DISABLE");
  const bool is_off = value != nullptr && value[0] != '\0' && string_view(value) != "0";
  return is_off ? "switched off by RANGEFINDER_DISABLE" : nullptr;
}

std::string resolve_output(const std::string& pattern) {
  if (pattern.empty())
    return std::string(::program_invocation_short_name) + "-" + std::to_string(::getpid()) + ".rfcap";
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      out += pattern[i];
      continue;
    }
    switch (pattern[++i]) {
      case 'p':
        out += std::to_string(::getpid());
        break;
      case 'h':
        out += base::host_name();
        break;
      case 'r':
        out += std::to_string(std::max(0, rank_from_environment()));
        break;
      case '%':
        out += '%';
        break;
      default:
        out += '%', out += pattern[i];
    }
  }
  return out;
}

bool names_process(const std::string& pattern) noexcept {
  if (pattern.empty()) return true;  // the default
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] == '%' && (pattern[++i] == 'p' || pattern[i] == 'r')) return true;
  }
  return false;
}

std::string with_number(const std::string& path, std::uint64_t number) {
  constexpr string_view ending = ".rfcap";
  const std::size_t stem = path.size() - (path.ends_with(ending) ? ending.size() : 0);
  return path.substr(0, stem) + "." + std::to_string(number) + path.substr(stem);
}

int rank_from_environment() noexcept {
  for (const Launcher& launcher : kLaunchers) {
    if (const int rank = number_of_variable(launcher.rank); rank >= 0) return rank;
  }
  return -1;
}

int world_size_from_environment() noexcept {
  const int rank = rank_from_environment();
  for (const Launcher& launcher : kLaunchers) {
    if (number_of_variable(launcher.rank) != rank) continue;
    if (const int size = number_of_variable(launcher.size); size >= 0) return size;
  }
  return -1;
}

Error error_of(const std::exception& thrown, string_view context) noexcept try {
  return Error(ErrorCode::kIo, std::string(context) + thrown.what());
} catch (const std::exception&) {
  return no_memory();
}

Status copy_of(const Status& status) noexcept try { return status; } catch (const std::exception&) {
  return Error(status.error().code(), no_memory().message());
}

void log(LogLevel level, std::initializer_list<string_view> message) noexcept {
  const char* wanted = environment("RANGEFINDER_LOG");
  if (wanted == nullptr) return;
  const string_view text = wanted;
  const LogLevel most = text == "info" ? LogLevel::kInfo : text == "warn" ? LogLevel::kWarn : LogLevel::kError;
  if (text.empty() || text == "off" || level > most) return;
  ::flockfile(stderr);
  std::fputs("rangefinder: ", stderr);
  for (const string_view part : message) std::fwrite(part.data(), 1, part.size(), stderr);
  std::fputc('\n', stderr);
  ::funlockfile(stderr);
}

}  // namespace session
}  // namespace rangefinder
