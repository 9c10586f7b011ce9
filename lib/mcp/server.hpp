// SPDX-License-Identifier: MIT
#pragma once

#include "mcp/json.hpp"
#include "mcp/tools.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::mcp {

/// The server's half of the Model Context Protocol, a message at a time: versions 2024-11-05 to 2025-11-25, which begin
/// with `initialize`, and 2026-07-28, whose requests stand alone and name their version. It offers tools and nothing
/// else: no prompts, no resources, nothing that asks the client.
///
///   Server server{Tools{std::move(*folder), {}}};
///   std::string out = server.answer(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");  // {"jsonrpc":"2.0","id":1,...
class Server {
 public:
  explicit Server(Tools tools) : tools_(std::move(tools)) {}

  /// The answer to a line, without a line end; empty where there is none: to notifications.
  std::string answer(std::string_view line);
  /// The answer to a line that was too long to be kept.
  static std::string answer_to_long_line();

  static constexpr std::size_t kLongestLine = std::size_t{4} << 20;

 private:
  std::optional<Json> answer_message(const Json& message);
  Json answer_batch(const Json& batch);
  Json answer_request(const Json& message);
  Json call_tool(const Json& id, const Json& params, bool modern);

  Tools tools_;
};

}  // namespace rangefinder::mcp
