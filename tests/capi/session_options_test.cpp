// SPDX-License-Identifier: MIT
// Every option of the declaration between the structs of C and C++.
#include "capi/session_options.hpp"

#include "capi/session_members.hpp"
#include "support/catch.hpp"

#include <rangefinder/session.hpp>

#include <cstring>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::capi;

namespace {

/// For each number: `change` gets the C member and its limits.
template <typename Change>
struct EachNumber {
  Change change;
  template <typename C, typename Cpp>
  void number(std::string_view name, C& member, const Cpp&, const Limits& limits) {
    change(name, member, limits);
  }
  void text(const char*&, const std::string&) {}
  void list(std::string_view, const char*&, const std::vector<std::string>&, char, std::string_view) {}
};

template <typename Change>
void each_number(rf_session_options& options, Change change) {
  const SessionOptions unused;
  EachNumber<Change> visitor{change};
  each_session_member(options, unused, visitor);
}

rf_session_options defaults() {
  rf_session_options options;
  REQUIRE(rf_session_options_init(&options, sizeof options) == RF_STATUS_OK);
  return options;
}

/// Sets all texts and lists, and compares them with what C++ got.
struct Texts {
  const bool sets;
  int texts = 0;
  template <typename C, typename Cpp>
  void number(std::string_view, C&, const Cpp&, const Limits&) {}
  void text(const char*& member, const std::string& got) {
    ++texts;
    if (sets)
      member = "text";
    else
      CHECK(got == "text");
  }
  void list(std::string_view, const char*& member, const std::vector<std::string>& got, char separator,
            std::string_view) {
    ++texts;
    if (sets)
      member = separator == '+' ? "a+b" : "a|b";
    else
      CHECK(got == std::vector<std::string>{"a", "b"});
  }
};

}  // namespace

TEST_CASE("the defaults of C are those of C++", "[capi]") {
  const rf_session_options given = defaults();
  SessionOptions options;
  REQUIRE(read_session_options("f", &given, options) == RF_STATUS_OK);
  CHECK(options.config().value().empty());
  rf_text* text = nullptr;
  REQUIRE(rf_session_options_text(&given, &text) == RF_STATUS_OK);
  CHECK(rf_text_size(text) == 0);
  rf_text_free(text);
}

TEST_CASE("every option goes from C to C++ and back", "[capi]") {
  rf_session_options given = defaults();
  int numbers = 0;
  each_number(given, [&](std::string_view, auto& member, const Limits& limits) {
    ++numbers;
    const auto standard = static_cast<std::int64_t>(member);
    member = static_cast<std::decay_t<decltype(member)>>(standard < limits.most ? standard + 1 : standard - 1);
  });
  CHECK(numbers > 35);
  SessionOptions options;
  Texts set{true};
  each_session_member(given, options, set);
  REQUIRE(read_session_options("f", &given, options) == RF_STATUS_OK);
  Texts compare{false};
  each_session_member(given, options, compare);
  CHECK((set.texts > 4 && compare.texts == set.texts));

  rf_session_options back = c_session_options(options);
  // Texts have no way back, and the size is the caller's.
  Texts same{true};
  each_session_member(back, options, same);
  back.struct_size = given.struct_size;
  CHECK(std::memcmp(&back, &given, sizeof back) == 0);

  // Through a configuration too: what C says in members it can say in `config`.
  rf_text* text = nullptr;
  REQUIRE(rf_session_options_text(&given, &text) == RF_STATUS_OK);
  rf_session_options configured = defaults();
  configured.config = rf_text_data(text);
  SessionOptions read;
  REQUIRE(read_session_options("f", &configured, read) == RF_STATUS_OK);
  CHECK(read.config().value() == rf_text_data(text));
  rf_text_free(text);
}

TEST_CASE("C names an option that is outside of its limits", "[capi]") {
  rf_session_options names = defaults();
  std::vector<std::string> checked;
  each_number(names, [&](std::string_view name, auto&, const Limits& limits) {
    INFO(name);
    for (const std::int64_t wrong : {limits.least - 1, limits.most == kUnlimited ? limits.least : limits.most + 1}) {
      rf_session_options given = defaults();
      bool is_set = false;
      each_number(given, [&](std::string_view other, auto& member, const Limits&) {
        using Member = std::decay_t<decltype(member)>;
        const auto given_number = static_cast<Member>(wrong);
        if (other != name || static_cast<std::int64_t>(given_number) != wrong || wrong == limits.least) return;
        if (std::is_unsigned_v<Member> && wrong < 0) return;
        member = given_number;
        is_set = true;
      });
      SessionOptions options;
      const rf_status status = read_session_options("f", &given, options);
      CHECK(status == (is_set ? RF_STATUS_INVALID_ARGUMENT : RF_STATUS_OK));
      if (!is_set) continue;
      CHECK(std::string(rf_last_error()) ==
            "f: " + std::string(name) + ": " + std::to_string(wrong) + " is not " + std::string(limits.wanted));
      checked.emplace_back(name);
    }
  });
  CHECK(checked.size() > 20);
}

TEST_CASE("C names a list that has an empty name", "[capi]") {
  rf_session_options given = defaults();
  given.counters = "memory++sm";
  SessionOptions options;
  CHECK(read_session_options("f", &given, options) == RF_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(rf_last_error()) ==
        "f: counters: 'memory++sm' is not a list of names separated by +, none of them empty");
}

TEST_CASE("options that no configuration can hold are not told as one", "[capi]") {
  rf_session_options given = defaults();
  given.output = "a,b.rfcap";
  rf_text* text = nullptr;
  CHECK(rf_session_options_text(&given, &text) == RF_STATUS_UNSUPPORTED);
  CHECK(text == nullptr);
  CHECK(std::string(rf_last_error()).find("rf_session_options_text: output: ") == 0);
  CHECK(rf_session_options_text(&given, nullptr) == RF_STATUS_INVALID_ARGUMENT);
  REQUIRE(rf_session_options_text(nullptr, &text) == RF_STATUS_OK);
  CHECK(rf_text_size(text) == 0);
  rf_text_free(text);
}
