// SPDX-License-Identifier: MIT
#pragma once

#include "mcp/server.hpp"
#include "support/capture_builder.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::testing {

/// A folder with two captures: train.rfcap, and job/rank0.rfcap.
class ServedFolder {
 public:
  ServedFolder() {
    std::filesystem::create_directory(scratch_.file("job"));
    for (const char* name : {"train.rfcap", "job/rank0.rfcap"}) {
      CaptureBuilder builder;
      for (std::int64_t step = 0; step < 3; ++step) {
        const std::int64_t t = 1'000 + step * 10'000;
        builder.range("step", t, t + 9'000).launch(t + 100).kernel("gemm", t + 300, t + 1'300);
      }
      builder.write(scratch_.file(name));
    }
  }

  std::string file(const std::string& name) const { return scratch_.file(name); }
  const std::string& path() const noexcept { return scratch_.path(); }
  mcp::Folder open() const {
    Result<mcp::Folder> folder = mcp::Folder::open(scratch_.path());
    REQUIRE(folder.ok());
    return std::move(*folder);
  }
  mcp::Server server(const mcp::AnswerLimits& limits = {}) const { return mcp::Server(mcp::Tools(open(), limits)); }

 private:
  ScratchFolder scratch_;
};

inline mcp::Json message_of(std::string_view line) {
  Result<mcp::Json> message = mcp::parse_message(line);
  REQUIRE(message.ok());
  return std::move(*message);
}

/// What the server answers to a request.
inline mcp::Json reply(mcp::Server& server, const std::string& method, const mcp::Json& params = mcp::Json::object()) {
  const mcp::Json request{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}};
  return message_of(server.answer(mcp::one_line(request)));
}

/// The result of a tool.
struct ToolAnswer {
  std::string text;
  bool failed = false;
};
inline ToolAnswer use(mcp::Server& server, const std::string& tool, const mcp::Json& arguments = mcp::Json::object()) {
  const mcp::Json message = reply(server, "tools/call", {{"name", tool}, {"arguments", arguments}});
  CAPTURE(mcp::one_line(message));
  REQUIRE(message.contains("result"));
  const mcp::Json& result = message["result"];
  return {result["content"][0]["text"].get<std::string>(), result["isError"].get<bool>()};
}

}  // namespace rangefinder::testing
