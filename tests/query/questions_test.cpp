// SPDX-License-Identifier: MIT
#include "query/questions.hpp"

#include "query/asked.hpp"
#include "query/recorded.hpp"
#include "support/files.hpp"
#include "support/shared_data.hpp"

#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// The SQL below each heading "### N. ..." of the page.
std::vector<std::string> questions_of_page() {
  const std::string page =
      read_file(std::string(std::getenv("RANGEFINDER_TEST_DATA")) + "/../../docs/how-to/ask-a-capture.md");
  constexpr std::string_view kBegin = "```sql\n";
  std::vector<std::string> questions;
  for (std::size_t at = 0; (at = page.find("\n### ", at)) != std::string::npos;) {
    const std::size_t begin = page.find(kBegin, at) + kBegin.size();
    const std::size_t end = page.find("```", begin);
    questions.push_back(page.substr(begin, end - begin));
    at = end;
  }
  return questions;
}

/// How many of the questions have an answer.
std::size_t compare_with_views(QueryDatabase& database) {
  const std::vector<std::string> questions = questions_of_page();
  REQUIRE(questions.size() == 20);
  REQUIRE(std::size(kAnswersOfViews) == questions.size());
  std::size_t answered = 0;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    CAPTURE(i + 1, questions[i]);
    const std::string answer = answer_to(database, questions[i]);
    CHECK(answer == answer_to(database, kAnswersOfViews[i]));
    answered += answer.empty() ? 0 : 1;
  }
  return answered;
}

bool is_input(const std::string& name) {
  return name.ends_with(".rfcap") || name.ends_with(".json.gz") || name.ends_with(".sqlite");
}

void compare_all_below(const std::string& folder) {
  std::size_t inputs = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (!is_input(path) || path.find("/expected/") != std::string::npos) continue;
    CAPTURE(path);
    Result<QueryDatabase> database = QueryDatabase::open({path});
    if (!database) FAIL(database.error().message());
    compare_with_views(*database);
    ++inputs;
  }
  CHECK(inputs > 0);
}

}  // namespace

TEST_CASE("the questions of the page are answered as the views answer them", "[query][golden]") {
  QueryDatabase database = database_of(recorded_timeline("h100_train.rfcap"));
  CHECK(compare_with_views(database) == 20);
}

TEST_CASE("the questions are answered as the views answer them for every capture", "[query][golden]") {
  compare_all_below(std::string(std::getenv("RANGEFINDER_TEST_DATA")) + "/captures");
}

TEST_CASE("the questions are answered as the views answer them for real traces", "[query][golden]") {
  for (const char* folder : {"data/kineto", "data/nsys"}) {
    const std::string path = shared_file(folder);
    if (path.empty()) RANGEFINDER_SKIP("no collection of real traces (RANGEFINDER_SHARED)");
    compare_all_below(path);
  }
}
