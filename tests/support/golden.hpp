// SPDX-License-Identifier: MIT
#pragma once

#include "support/catch.hpp"
#include "support/files.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace rangefinder::testing {

/// Compares text with a file under tests/data. With RANGEFINDER_UPDATE_GOLDEN=1 it writes the file instead; read the
/// difference before it is committed.
inline void require_golden(const std::string& name, const std::string& text) {
  const char* root = std::getenv("RANGEFINDER_TEST_DATA");
  REQUIRE(root != nullptr);  // ctest sets it
  const std::string path = std::string(root) + "/" + name;
  const char* update = std::getenv("RANGEFINDER_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    write_file(path, text);
    SUCCEED(path + ": written");
    return;
  }
  const std::string expected = read_file(path);
  if (expected == text) {
    SUCCEED(name);
    return;
  }
  const auto differs_at = static_cast<std::size_t>(
      std::mismatch(expected.begin(), expected.end(), text.begin(), text.end()).first - expected.begin());
  const auto line_of = [differs_at](const std::string& all) {
    const std::size_t begin = differs_at == 0 ? 0 : all.rfind('\n', differs_at - 1) + 1;
    return begin >= all.size() ? std::string("(the end)") : all.substr(begin, all.find('\n', begin) - begin);
  };
  const auto line = 1 + std::count(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(differs_at), '\n');
  FAIL_CHECK(name << ", line " << line << "\n  expected " << line_of(expected) << "\n  got      " << line_of(text)
                  << "\nRANGEFINDER_UPDATE_GOLDEN=1 accepts it");
}

}  // namespace rangefinder::testing
