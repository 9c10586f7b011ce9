// SPDX-License-Identifier: MIT
#include "exporter/parquet/hive.hpp"

#include <rangefinder/types.hpp>

#include <array>
#include <ctime>

namespace rangefinder::parquet {
namespace {

bool is_plain(char letter) noexcept {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         letter == '.' || letter == '-' || letter == '_';
}

}  // namespace

std::string hive_value(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char letter : text) {
    if (is_plain(letter)) {
      out += letter;
      continue;
    }
    const auto byte = static_cast<unsigned char>(letter);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out.empty() ? "_" : out;
}

std::string hive_folder(const std::string& root, std::string_view table, const Partition& partition) {
  std::string folder = root;
  folder.append("/").append(table);
  folder += "/job=" + hive_value(partition.job);
  folder += "/run=" + hive_value(partition.run);
  folder += "/rank=" + std::to_string(partition.rank);
  return folder;
}

std::string run_of_time(std::int64_t realtime_ns) {
  if (realtime_ns == kNoTime) return "unknown";
  const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "unknown";
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
  return text.data();
}

}  // namespace rangefinder::parquet
