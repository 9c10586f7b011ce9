// SPDX-License-Identifier: MIT
#include "mcp/server.hpp"

#include "mcp/served.hpp"

#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;
using mcp::Json;

namespace {

constexpr const char* kVersionMember = "io.modelcontextprotocol/protocolVersion";

int error_code(const std::string& line, mcp::Server& server) {
  CAPTURE(line);
  const Json message = message_of(server.answer(line));
  REQUIRE(message.contains("error"));
  return message["error"]["code"].get<int>();
}

}  // namespace

TEST_CASE("a version of the handshake is taken as asked, and the newest else", "[mcp]") {
  const ServedFolder served;
  mcp::Server server = served.server();
  for (const auto& [asked, agreed] : {std::pair{"2024-11-05", "2024-11-05"},
                                      {"2025-06-18", "2025-06-18"},
                                      {"2025-11-25", "2025-11-25"},
                                      {"1999-01-01", "2025-11-25"},
                                      {"2026-07-28", "2025-11-25"}}) {
    const Json message = reply(server, "initialize", {{"protocolVersion", asked}, {"capabilities", Json::object()}});
    CHECK(message["result"]["protocolVersion"] == agreed);
    CHECK(message["result"]["serverInfo"]["name"] == "rangefinder");
    CHECK(message["result"]["capabilities"].contains("tools"));
    CHECK_FALSE(message["result"].contains("resultType"));
  }
}

TEST_CASE("a request of the newest version stands alone", "[mcp]") {
  const ServedFolder served;
  mcp::Server server = served.server();
  const Json meta{{"_meta", {{kVersionMember, "2026-07-28"}}}};
  const Json found = reply(server, "server/discover", meta);
  CHECK(found["result"]["supportedVersions"] == Json::array({"2026-07-28"}));
  CHECK(found["result"]["cacheScope"] == "public");
  for (const char* method : {"server/discover", "tools/list", "ping"}) {
    const Json message = reply(server, method, meta);
    CHECK(message["result"]["resultType"] == "complete");
    CHECK(message["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "rangefinder");
  }
  Json call = meta;
  call["name"] = "list_files";
  CHECK(reply(server, "tools/call", call)["result"]["resultType"] == "complete");
  const Json other = reply(server, "tools/list", {{"_meta", {{kVersionMember, "2030-01-01"}}}});
  CHECK(other["error"]["code"] == -32022);
  CHECK(other["error"]["data"]["requested"] == "2030-01-01");
  CHECK(other["error"]["data"]["supported"].size() == 5);
}

TEST_CASE("tools have schemas that say what they take", "[mcp]") {
  const ServedFolder served;
  mcp::Server server = served.server();
  const Json tools = reply(server, "tools/list")["result"]["tools"];
  REQUIRE(tools.size() == mcp::Tools::all().size());
  for (const Json& tool : tools) {
    CHECK(tool["inputSchema"]["type"] == "object");
    CHECK(tool["inputSchema"]["properties"].is_object());
    CHECK(tool["annotations"]["readOnlyHint"] == true);
    CHECK_FALSE(tool["description"].get<std::string>().empty());
  }
}

TEST_CASE("what is no request gets an error, or nothing", "[mcp]") {
  const ServedFolder served;
  mcp::Server server = served.server();
  CHECK(error_code("{", server) == -32700);
  CHECK(error_code(std::string(100, '['), server) == -32700);
  CHECK(error_code("1", server) == -32600);
  CHECK(error_code("{}", server) == -32600);
  CHECK(error_code(R"({"jsonrpc":"1.0","id":1,"method":"ping"})", server) == -32600);
  CHECK(error_code(R"({"jsonrpc":"2.0","id":1})", server) == -32600);
  CHECK(error_code(R"({"jsonrpc":"2.0","id":{},"method":"ping"})", server) == -32600);
  CHECK(error_code(R"({"jsonrpc":"2.0","id":1,"method":7})", server) == -32600);
  CHECK(error_code(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[1]})", server) == -32602);
  CHECK(error_code(R"({"jsonrpc":"2.0","id":1,"method":"resources/list"})", server) == -32601);
  CHECK(error_code(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}})", server) == -32602);
  CHECK(error_code(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"quer"}})", server) == -32602);
  CHECK(server.answer(R"({"jsonrpc":"2.0","method":"notifications/initialized"})").empty());
  CHECK(server.answer(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})").empty());
  CHECK(server.answer(R"({"jsonrpc":"2.0","id":1,"result":{}})").empty());
  CHECK(message_of(mcp::Server::answer_to_long_line())["error"]["code"] == -32600);
}

TEST_CASE("ids come back as they are", "[mcp]") {
  const ServedFolder served;
  mcp::Server server = served.server();
  CHECK(server.answer(R"({"jsonrpc":"2.0","id":"x","method":"ping"})") == R"({"jsonrpc":"2.0","id":"x","result":{}})");
  CHECK(server.answer(R"({"jsonrpc":"2.0","id":9007199254740993,"method":"ping"})") ==
        R"({"jsonrpc":"2.0","id":9007199254740993,"result":{}})");
}

TEST_CASE("a batch is answered message by message", "[mcp]") {
  const ServedFolder served;
  mcp::Server server = served.server();
  const Json answers =
      message_of(server.answer(R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},)"
                               R"({"jsonrpc":"2.0","id":2,"method":"x"}])"));
  REQUIRE(answers.size() == 2);
  CHECK(answers[0]["id"] == 1);
  CHECK(answers[1]["error"]["code"] == -32601);
  CHECK(server.answer(R"([{"jsonrpc":"2.0","method":"x"}])").empty());
}
