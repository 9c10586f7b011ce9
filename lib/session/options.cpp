// SPDX-License-Identifier: MIT
#include "session/options.hpp"

#include "base/host_name.hpp"
#include "base/text.hpp"

#include <errno.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <limits>
#include <optional>

namespace rangefinder {
namespace {

using std::string_view;

/// A number with an optional suffix from `units`; nothing when it is not one, or does not fit.
struct Unit {
  string_view suffix;
  std::uint64_t factor;
};

std::optional<std::uint64_t> parse_number(string_view text, const std::vector<Unit>& units) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || text.empty()) return std::nullopt;
  const string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Unit& unit : units) {
    if (suffix != unit.suffix) continue;
    if (number > std::numeric_limits<std::uint64_t>::max() / unit.factor) return std::nullopt;
    return number * unit.factor;
  }
  return std::nullopt;
}

const std::vector<Unit> kCount = {{"", 1}};
const std::vector<Unit> kBytes = {{"", 1},           {"K", 1u << 10},   {"M", 1u << 20},  {"G", 1u << 30},
                                  {"KiB", 1u << 10}, {"MiB", 1u << 20}, {"GiB", 1u << 30}};
// Nanoseconds; without a unit, milliseconds.
const std::vector<Unit> kTime = {
    {"", 1'000'000}, {"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}, {"min", 60'000'000'000}};

template <typename T>
bool set_number(T& target, string_view text, const std::vector<Unit>& units = kCount) {
  const auto number = parse_number(text, units);
  if (!number || *number > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) return false;
  target = static_cast<T>(*number);
  return true;
}

/// Rounded up: a time that is not 0 does not become 0.
template <typename Duration>
bool set_time(Duration& target, string_view text) {
  const auto ns = parse_number(text, kTime);
  if (!ns || *ns > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / 2)) return false;
  target = std::chrono::ceil<Duration>(std::chrono::nanoseconds(*ns));
  return true;
}

bool set_bool(bool& target, string_view text) {
  const bool on = text == "1" || text == "on" || text == "true" || text == "yes" || text == "auto" || text.empty();
  const bool off = text == "0" || text == "off" || text == "false" || text == "no";
  if (on || off) target = on;
  return on || off;
}

template <typename T>
bool set_choice(T& target, string_view text, std::initializer_list<std::pair<string_view, T>> choices) {
  for (const auto& [name, value] : choices) {
    if (name == text) return target = value, true;
  }
  return false;
}

bool set_signal(int& target, string_view text) {
  if (text.starts_with("SIG")) text.remove_prefix(3);
  if (set_choice(target, text, {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}, {"none", 0}})) return true;
  int number = 0;
  if (!set_number(number, text) || number >= NSIG) return false;
  target = number;
  return true;
}

constexpr std::chrono::milliseconds kNvmlPeriod{20};

struct Key {
  string_view name;
  bool (*set)(SessionOptions&, string_view);
};

// The order of docs/reference/configuration.md.
const Key kKeys[] = {
    {"output", [](SessionOptions& o, string_view v) { return v.empty() ? false : (o.output = v, true); }},
    {"replace", [](SessionOptions& o, string_view v) { return set_bool(o.replace, v); }},
    {"mode",
     [](SessionOptions& o, string_view v) {
       return set_choice(
           o.mode, v,
           {{"mapped", CaptureMode::kMapped}, {"ring", CaptureMode::kRing}, {"buffered", CaptureMode::kBuffered}});
     }},
    {"memory",
     [](SessionOptions& o, string_view v) {
       std::uint64_t bytes = 0;
       return set_number(bytes, v, kBytes) && bytes >= session::kMinMemory ? (o.memory_bytes = bytes, true) : false;
     }},
    {"overflow",
     [](SessionOptions& o, string_view v) {
       return set_choice(
           o.overflow, v,
           {{"drop", OverflowPolicy::kDrop}, {"wait", OverflowPolicy::kWait}, {"grow", OverflowPolicy::kGrow}});
     }},
    {"grow_limit", [](SessionOptions& o, string_view v) { return set_number(o.grow_limit_bytes, v, kBytes); }},
    {"skip_first", [](SessionOptions& o, string_view v) { return set_number(o.schedule.skip_first, v); }},
    {"wait", [](SessionOptions& o, string_view v) { return set_number(o.schedule.wait, v); }},
    {"warmup", [](SessionOptions& o, string_view v) { return set_number(o.schedule.warmup, v); }},
    {"active", [](SessionOptions& o, string_view v) { return set_number(o.schedule.active, v); }},
    {"repeat", [](SessionOptions& o, string_view v) { return set_number(o.schedule.repeat, v); }},
    {"record_signal", [](SessionOptions& o, string_view v) { return set_signal(o.record_signal, v); }},
    {"record_steps", [](SessionOptions& o, string_view v) { return set_number(o.record_steps, v); }},
    {"delay", [](SessionOptions& o, string_view v) { return set_time(o.delay, v); }},
    {"duration", [](SessionOptions& o, string_view v) { return set_time(o.duration, v); }},
    {"until_step", [](SessionOptions& o, string_view v) { return set_number(o.until_step, v); }},
    {"cuda", [](SessionOptions& o, string_view v) { return set_bool(o.cuda, v); }},
    {"cuda_api", [](SessionOptions& o, string_view v) { return set_bool(o.cuda_api, v); }},
    {"cuda_sync", [](SessionOptions& o, string_view v) { return set_bool(o.cuda_sync, v); }},
    {"cuda_overhead", [](SessionOptions& o, string_view v) { return set_bool(o.cuda_overhead, v); }},
    {"cuda_memory", [](SessionOptions& o, string_view v) { return set_bool(o.cuda_memory, v); }},
    {"cuda_latency", [](SessionOptions& o, string_view v) { return set_bool(o.cuda_latency, v); }},
    {"cuda_idle",
     [](SessionOptions& o, string_view v) {
       return set_choice(
           o.cuda_idle, v,
           {{"automatic", CudaIdle::kAutomatic}, {"gate", CudaIdle::kGate}, {"disable", CudaIdle::kDisable}});
     }},
    {"counters", [](SessionOptions& o, string_view v) { return o.counters = v, true; }},
    {"counter_ranges", [](SessionOptions& o, string_view v) { return o.counter_ranges = v, true; }},
    {"counter_category", [](SessionOptions& o, string_view v) { return o.counter_category = v, true; }},
    {"counter_depth", [](SessionOptions& o, string_view v) { return set_number(o.counter_depth, v); }},
    {"samples", [](SessionOptions& o, string_view v) { return o.samples = v, true; }},
    {"sample_interval",
     [](SessionOptions& o, string_view v) {
       std::chrono::nanoseconds interval{0};
       return set_time(interval, v) && interval >= session::kMinSampleInterval ? (o.sample_interval = interval, true)
                                                                               : false;
     }},
    {"graph_tracing",
     [](SessionOptions& o, string_view v) {
       return set_choice(
           o.graph_tracing, v,
           {{"nodes", GraphTracing::kNodes}, {"whole", GraphTracing::kWhole}, {"automatic", GraphTracing::kAutomatic}});
     }},
    {"graph_node_replays",
     [](SessionOptions& o, string_view v) {
       std::uint32_t replays = 0;
       return set_number(replays, v) && replays != 0 ? (o.graph_node_replays = replays, true) : false;
     }},
    {"autograd", [](SessionOptions& o, string_view v) { return set_bool(o.autograd, v); }},
    {"nvml",
     [](SessionOptions& o, string_view v) {
       bool on = false;
       if (!set_bool(on, v)) return set_time(o.nvml_period, v);
       o.nvml_period = on ? kNvmlPeriod : std::chrono::milliseconds(0);
       return true;
     }},
    {"cpu_counters", [](SessionOptions& o, string_view v) { return set_bool(o.cpu_counters, v); }},
    {"nvtx", [](SessionOptions& o, string_view v) { return set_bool(o.nvtx, v); }},
    {"flush_period",
     [](SessionOptions& o, string_view v) {
       std::chrono::milliseconds period{0};
       return set_time(period, v) && period.count() > 0 ? (o.flush_period = period, true) : false;
     }},
    {"stop_timeout", [](SessionOptions& o, string_view v) { return set_time(o.stop_timeout, v); }},
    {"ring_bytes", [](SessionOptions& o, string_view v) { return set_number(o.ring_bytes, v, kBytes); }},
    {"ring_time", [](SessionOptions& o, string_view v) { return set_time(o.ring_time, v); }},
    {"dump_signal", [](SessionOptions& o, string_view v) { return set_signal(o.dump_signal, v); }},
    {"dump_step_over", [](SessionOptions& o, string_view v) { return set_time(o.dump_step_over, v); }},
    {"max_dumps", [](SessionOptions& o, string_view v) { return set_number(o.max_dumps, v); }},
};

}  // namespace

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
    const auto known = std::find_if(std::begin(kKeys), std::end(kKeys), [&](const Key& k) { return k.name == key; });
    if (known == std::end(kKeys)) {
      std::vector<string_view> names;
      for (const Key& k : kKeys) names.push_back(k.name);
      const string_view near = base::nearest(key, names);
      complain("unknown key '" + base::printable(key) + "'" +
               (near.empty() ? "" : ", did you mean '" + std::string(near) + "'?"));
    } else if (!known->set(*this, value)) {
      complain("'" + base::printable(value) + "' is no value for " + std::string(key));
    }
  }
  if (problems.empty()) return {};
  return Error(ErrorCode::kInvalidArgument, "configuration: " + problems);
}

namespace session {
namespace {

int number_of(const char* name) noexcept {
  const char* const value = name != nullptr ? environment(name) : nullptr;
  int number = 0;
  return value != nullptr && set_number(number, value) ? number : -1;
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
    if (const int rank = number_of(launcher.rank); rank >= 0) return rank;
  }
  return -1;
}

int world_size_from_environment() noexcept {
  const int rank = rank_from_environment();
  for (const Launcher& launcher : kLaunchers) {
    if (number_of(launcher.rank) != rank) continue;
    if (const int size = number_of(launcher.size); size >= 0) return size;
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
