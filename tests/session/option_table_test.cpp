// SPDX-License-Identifier: MIT
// Every option of the declaration, by its row in the table.
#include "session/option_table.hpp"

#include "support/catch.hpp"

#include <limits>
#include <set>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::session;

namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

SessionOptions with(const Option& option, std::int64_t number) {
  SessionOptions options;
  option.set(options, number);
  return options;
}

/// Values to try: those at the limits, next to them and next to the default.
std::set<std::int64_t> numbers_of(const Option& option) {
  const std::int64_t standard = option.get(SessionOptions());
  std::set<std::int64_t> numbers = {option.least, option.most, standard};
  for (const std::int64_t number : {option.least + 1, option.most - 1, standard + 1}) {
    if (number >= option.least && number <= option.most) numbers.insert(number);
  }
  return numbers;
}

/// As a configuration says it, also where it may not.
std::string written(const Option& option, std::int64_t number) {
  const char* const unit = option.kind != Kind::kTime ? "" : option.unit_ns == 1 ? "ns" : "ms";
  return std::to_string(number) + unit;
}

/// The option has the value of `wanted`, and all others have their defaults.
void check_only(const Option& option, const SessionOptions& given, const SessionOptions& wanted) {
  for (const Option& other : option_table()) {
    INFO(other.key);
    CHECK(same_option(other, given, &other == &option ? wanted : SessionOptions()));
  }
}

/// Through print and parse, and through a whole configuration.
void check_round_trip(const Option& option, const SessionOptions& wanted) {
  const Result<std::string> text = print_option(option, wanted);
  REQUIRE(text.ok());
  INFO(*text);
  SessionOptions parsed;
  CHECK(parse_option(option, *text, parsed));
  check_only(option, parsed, wanted);

  const Result<std::string> config = wanted.config();
  REQUIRE(config.ok());
  const bool is_default = same_option(option, wanted, SessionOptions());
  CHECK(*config == (is_default ? std::string() : std::string(option.key) + "=" + *text));
  SessionOptions applied;
  CHECK(applied.apply(*config).ok());
  check_only(option, applied, wanted);
}

void check_refused(const Option& option, const std::string& text) {
  INFO(text);
  SessionOptions options;
  const Status status = options.apply(std::string(option.key) + "=" + text);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code() == ErrorCode::kInvalidArgument);
  CHECK(status.error().message() ==
        "configuration: " + std::string(option.key) + ": '" + text + "' is not " + std::string(option.wanted));
  check_only(option, options, SessionOptions());
}

/// A value of the struct that is outside of the limits, where the member can have one.
bool check_refused_by_start(const Option& option, std::int64_t number) {
  const SessionOptions options = with(option, number);
  if (option.get(options) != number) return false;
  const Status status = check(options);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code() == ErrorCode::kInvalidArgument);
  const std::string message = status.error().message();
  INFO(message);
  CHECK(message.find(std::string(option.member) + ": '") == 0);
  CHECK(message.find("' is not " + std::string(option.wanted)) != std::string::npos);
  CHECK(options.config().error().message() == message);
  return true;
}

}  // namespace

TEST_CASE("the table has every key and every member once", "[session]") {
  std::set<std::string_view> keys;
  std::set<std::string_view> members;
  for (const Option& option : option_table()) {
    INFO(option.key);
    keys.insert(option.key);
    members.insert(option.member);
    const bool is_number = option.get != nullptr && option.set != nullptr;
    CHECK(int{is_number} + int{option.text != nullptr} + int{option.list != nullptr} == 1);
    CHECK((option.kind == Kind::kChoice) == !option.words.empty());
    CHECK((option.kind == Kind::kTime) == (option.unit_ns != 0));
  }
  CHECK(keys.size() == option_table().size());
  CHECK(members.size() == option_table().size());
  CHECK(option_table().size() > 40);
}

TEST_CASE("every option that is a number is parsed, printed and checked", "[session]") {
  int signed_limits = 0;
  for (const Option& option : option_table()) {
    if (option.get == nullptr) continue;
    INFO(option.key);
    for (const std::int64_t number : numbers_of(option)) {
      INFO(number);
      REQUIRE(option.get(with(option, number)) == number);
      CHECK(check(with(option, number)).ok());
      check_round_trip(option, with(option, number));
    }
    check_refused(option, "nonsense");
    check_refused(option, "1 ");
    if (option.kind == Kind::kSwitch || option.kind == Kind::kChoice) {
      if (option.kind == Kind::kChoice) check_refused(option, "");
      if (option.kind == Kind::kChoice) signed_limits += check_refused_by_start(option, option.most + 1) ? 1 : 0;
      continue;
    }
    check_refused(option, written(option, option.least - 1));
    check_refused(option, option.most != kLargest ? written(option, option.most + 1) : "9223372036854775808");
    check_refused(option, "99999999999999999999");
    signed_limits += check_refused_by_start(option, option.least - 1) ? 1 : 0;
  }
  CHECK(signed_limits > 10);
}

TEST_CASE("every option that is a choice takes its words", "[session]") {
  int choices = 0;
  for (const Option& option : option_table()) {
    for (std::size_t i = 0; i < option.words.size(); ++i) {
      SessionOptions options;
      CHECK(parse_option(option, option.words[i], options));
      CHECK(option.get(options) == static_cast<std::int64_t>(i));
      CHECK(option.wanted.find(option.words[i]) != std::string_view::npos);
      ++choices;
    }
  }
  CHECK(choices > 10);
}

TEST_CASE("every option that is a text or a list is parsed and printed", "[session]") {
  int lists = 0;
  for (const Option& option : option_table()) {
    if (option.get != nullptr) continue;
    INFO(option.key);
    SessionOptions options;
    if (option.text != nullptr) {
      options.*option.text = "a=b c|d";
      check_round_trip(option, options);
      options.*option.text = "a,b";
      CHECK(print_option(option, options).error().code() == ErrorCode::kUnsupported);
      CHECK(options.config().error().message().find(std::string(option.member) + ": ") == 0);
      if (option.not_empty) check_refused(option, "");
      continue;
    }
    ++lists;
    const std::string separator(1, option.separator);
    for (const std::vector<std::string>& names : {std::vector<std::string>{}, {"one"}, {"one", "tw*", "three"}}) {
      options.*option.list = names;
      check_round_trip(option, options);
    }
    for (const std::string& bad : {separator, "a" + separator, separator + "a", "a" + separator + separator + "b"})
      check_refused(option, bad);
    for (const std::string& bad : {"a" + separator + "b", std::string(), std::string("a,b")}) {
      options.*option.list = {"good", bad};
      const Result<std::string> config = options.config();
      REQUIRE_FALSE(config.ok());
      CHECK(config.error().code() == ErrorCode::kUnsupported);
      CHECK(config.error().message().find(std::string(option.member) + ": ") == 0);
    }
  }
  CHECK(lists == 3);
}

TEST_CASE("all options together survive a configuration", "[session]") {
  SessionOptions options;
  for (const Option& option : option_table()) {
    if (option.text != nullptr) {
      options.*option.text = "text";
    } else if (option.list != nullptr) {
      options.*option.list = {"a", "b"};
    } else {
      const std::int64_t number = option.get(options);
      option.set(options, number < option.most ? number + 1 : number - 1);
    }
  }
  options.metadata = {{"model", "gpt"}, {"k", "a=b"}};
  const Result<std::string> config = options.config();
  REQUIRE(config.ok());
  SessionOptions applied;
  REQUIRE(applied.apply(*config).ok());
  for (const Option& option : option_table()) {
    INFO(option.key);
    CHECK(same_option(option, applied, options));
    CHECK_FALSE(same_option(option, applied, SessionOptions()));
  }
  CHECK(applied.metadata == options.metadata);

  CHECK(SessionOptions().config().ok());
  CHECK(SessionOptions().config()->empty());
  for (const auto& fact : {std::pair<std::string, std::string>{"", "x"}, {"a=b", "x"}, {"a,b", "x"}, {"a", "x,y"}}) {
    options.metadata = {fact};
    CHECK(options.config().error().code() == ErrorCode::kUnsupported);
  }
}
