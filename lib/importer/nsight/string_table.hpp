// SPDX-License-Identifier: MIT
#pragma once

#include "importer/nsight/import_context.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rangefinder::importer::nsight {

/// The table StringIds. Its texts enter the timeline only when somebody refers to them: an export holds many more, of
/// call stacks and files.
class StringTable {
 public:
  void read(ImportContext& context);

  /// The text of that id in the timeline. An id that the file does not hold becomes "(string ID missing)" and is
  /// counted in CaptureHealth::lost_names.
  StringId resolve(ImportContext& context, std::int64_t id);

 private:
  struct Entry {
    std::int64_t id;
    std::uint64_t offset;
    std::uint32_t size;
    std::uint32_t interned;
  };
  static constexpr std::uint32_t kNotYet = 0xFFFFFFFFu;

  Entry* find(std::int64_t id) noexcept;

  std::vector<Entry> entries_;  // by id
  std::string texts_;
  std::unordered_map<std::int64_t, StringId> missing_;
};

}  // namespace rangefinder::importer::nsight
