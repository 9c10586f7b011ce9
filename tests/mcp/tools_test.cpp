// SPDX-License-Identifier: MIT
#include "mcp/tools.hpp"

#include "mcp/served.hpp"
#include "support/files.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <tuple>

using namespace rangefinder;
using namespace rangefinder::testing;
using mcp::Json;

namespace {

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("files are listed, looked into, checked, reported and queried", "[mcp]") {
  const ServedFolder served;
  mcp::Server server = served.server();
  CHECK(says(use(server, "list_files").text, R"({"path":"train.rfcap","kind":"capture","bytes":)"));
  const Json info = message_of(use(server, "info", {{"path", "train.rfcap"}}).text);
  CHECK(info["rows"][0]["ranges"] == 3);
  CHECK(info["device_time"][0] == Json({{"part", "owned"}, {"gpu_ops", 3}, {"gpu_sum_ns", 3000}}));
  CHECK(info["file"]["ended_cleanly"] == true);
  CHECK(message_of(use(server, "check", {{"path", "train.rfcap"}}).text)["whole"] == true);
  CHECK(says(use(server, "list_views").text, "kernels: "));
  CHECK(says(use(server, "schema").text, "activities: "));
  CHECK(says(use(server, "report", {{"path", "train.rfcap"}, {"view", "kernels"}, {"format", "csv"}}).text,
             "gemm,3,3000"));
  CHECK(use(server, "query", {{"path", "train.rfcap"}, {"sql", "SELECT name, count(*) AS n FROM ranges GROUP BY name"}})
            .text == R"({"columns":["name","n"],"rows":[["step",3]],"truncated":false})");
}

TEST_CASE("paths outside of the folder are refused, and nothing of them is told", "[mcp]") {
  const ServedFolder served;
  const ServedFolder other;
  std::filesystem::create_symlink(other.file("train.rfcap"), served.file("link.rfcap"));
  mcp::Server server = served.server();
  for (const std::string& path :
       {std::string("/etc/passwd"), std::string("../x.rfcap"), other.file("train.rfcap"), std::string("link.rfcap")}) {
    for (const char* tool : {"info", "check", "report"}) {
      const ToolAnswer answer = use(server, tool, {{"path", path}});
      CHECK(answer.failed);
      CHECK(says(answer.text, "refused"));
    }
    const ToolAnswer answer = use(server, "query", {{"path", path}, {"sql", "SELECT 1"}});
    CHECK(answer.failed);
    CHECK(says(answer.text, "refused"));
  }
}

TEST_CASE("a report of the critical path is of what was asked, by what was asked", "[mcp]") {
  const ServedFolder served;
  mcp::Server server = served.server();
  const auto report = [&](const char* of) {
    return use(server, "report",
               {{"path", "train.rfcap"}, {"view", "critical_path"}, {"of", of}, {"by", "range"}, {"format", "csv"}});
  };
  CHECK(says(report("all").text, "Range,Time (ns)"));
  CHECK(says(report("range:no such range").text, "no range no such range"));
}

TEST_CASE("answers do not write, and do not show where the folder is", "[mcp]") {
  const ServedFolder served;
  mcp::Server server = served.server();
  for (const char* sql :
       {"ATTACH 'x.db' AS x", "CREATE TABLE t(a)", "VACUUM INTO 'x.db'", "PRAGMA journal_mode = DELETE"})
    CHECK(use(server, "query", {{"path", "train.rfcap"}, {"sql", sql}}).failed);
  write_file(served.file("bad.rfcap"), "not a capture");
  const ToolAnswer bad = use(server, "report", {{"path", "bad.rfcap"}});
  CHECK(bad.failed);
  CHECK(says(bad.text, "bad.rfcap"));
  CHECK_FALSE(says(bad.text, served.path()));
}

TEST_CASE("answers have no more rows and bytes than they may", "[mcp]") {
  const ServedFolder served;
  mcp::AnswerLimits limits;
  limits.max_rows = 2;
  mcp::Server few = served.server(limits);
  const Json rows = message_of(
      use(few, "query", {{"path", "train.rfcap"}, {"sql", "SELECT id FROM ranges"}, {"max_rows", 500}}).text);
  CHECK(rows["rows"].size() == 2);
  CHECK(rows["truncated"] == true);
  limits.max_rows = 1000;
  limits.max_bytes = 1024;
  mcp::Server small = served.server(limits);
  const std::string sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 900) SELECT i FROM n";
  const std::string text = use(small, "query", {{"path", "train.rfcap"}, {"sql", sql}}).text;
  CHECK(text.size() < 1200);
  CHECK(message_of(text)["truncated"] == true);
  const std::string schema = use(small, "schema").text;
  CHECK(schema.size() < 1200);
  CHECK(says(schema, "cut at 1,024 bytes"));
  limits.timeout_ms = 50;
  mcp::Server hasty = served.server(limits);
  const ToolAnswer endless =
      use(hasty, "query",
          {{"path", "train.rfcap"},
           {"sql", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT count(*) FROM n"}});
  CHECK(endless.failed);
  CHECK(says(endless.text, "50 ms"));
}

TEST_CASE("wrong arguments are told as text", "[mcp]") {
  const ServedFolder served;
  mcp::Server server = served.server();
  for (const auto& [tool, arguments, words] :
       {std::tuple<const char*, Json, const char*>{"info", Json::object(), "\"path\" is missing"},
        {"query", {{"path", "train.rfcap"}}, "\"sql\" is missing"},
        {"report", {{"path", "train.rfcap"}, {"top", "3"}}, "must be of type integer"},
        {"report", {{"path", "train.rfcap"}, {"top", 0}}, "at least 1"},
        {"report", {{"path", "train.rfcap"}, {"format", "xml"}}, "one of"},
        {"report", {{"path", "train.rfcap"}, {"regex", true}}, "no argument \"regex\""},
        {"report", {{"path", "train.rfcap"}, {"view", "kernel"}}, "did you mean kernels?"}}) {
    const ToolAnswer answer = use(server, tool, arguments);
    CAPTURE(answer.text);
    CHECK(answer.failed);
    CHECK(says(answer.text, words));
  }
}

TEST_CASE("a file that is written anew is read anew", "[mcp]") {
  const ServedFolder served;
  mcp::Server server = served.server();
  const Json question{{"path", "train.rfcap"}, {"sql", "SELECT count(*) FROM ranges"}};
  CHECK(says(use(server, "query", question).text, "[[3]]"));
  CaptureBuilder().range("one", 0, 10).write(served.file("new.rfcap"));
  std::filesystem::rename(served.file("new.rfcap"), served.file("train.rfcap"));
  CHECK(says(use(server, "query", question).text, "[[1]]"));
}
