// SPDX-License-Identifier: MIT
#pragma once

#include "mcp/folder.hpp"
#include "mcp/json.hpp"

#include <rangefinder/query.hpp>
#include <rangefinder/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::mcp {

/// What an answer may hold, and take.
struct AnswerLimits {
  std::size_t max_rows = 200;
  std::size_t max_bytes = 256 << 10;   ///< of an answer's text
  std::int64_t timeout_ms = 30'000;    ///< of a query
  std::uint64_t max_memory_bytes = 0;  ///< of reading an input; 0: default_max_memory()
};

class Tools;

/// Something that can be asked.
struct Tool {
  std::string_view name;
  std::string_view title;
  std::string_view description;
  Json (*arguments)();        ///< `properties` of its JSON schema
  std::string_view required;  ///< the one argument that it cannot do without; empty: none
  Result<std::string> (*answer)(Tools& tools, const Json& arguments);
};

/// Everything that can be asked, of the files of a folder. None of it writes.
class Tools {
 public:
  Tools(Folder folder, const AnswerLimits& limits) : folder_(std::move(folder)), limits_(limits) {}

  static std::span<const Tool> all();
  /// As `tools/list` has them.
  static Json list();

  /// The text of an answer.
  ///
  /// Errors: kNotFound for a tool that there is not, with the nearest; what else went wrong is text for who asked, and
  ///         `failed` is true.
  Result<std::string> call(std::string_view name, const Json& arguments, bool& failed);

  const Folder& folder() const noexcept { return folder_; }
  const AnswerLimits& limits() const noexcept { return limits_; }
  /// An input that is open for queries. The last one stays open, as long as its file does not change.
  Result<QueryDatabase*> database(const std::string& path);

 private:
  /// What tells a file from one that was written in its place.
  struct Opened {
    std::string path;
    std::string version;
    QueryDatabase database;
  };

  Folder folder_;
  AnswerLimits limits_;
  std::optional<Opened> opened_;
};

// ---- answers (tool_answers.cpp)
Result<std::string> answer_list_files(Tools& tools, const Json& arguments);
Result<std::string> answer_info(Tools& tools, const Json& arguments);
Result<std::string> answer_check(Tools& tools, const Json& arguments);
Result<std::string> answer_views(Tools& tools, const Json& arguments);
Result<std::string> answer_report(Tools& tools, const Json& arguments);
Result<std::string> answer_schema(Tools& tools, const Json& arguments);
Result<std::string> answer_query(Tools& tools, const Json& arguments);

}  // namespace rangefinder::mcp
