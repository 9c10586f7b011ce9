// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace rangefinder::cli {

/// What a key of a configuration means, in its first sentence, without the period.
std::string session_key_text(std::string_view key);
/// All keys, with what they take, their default and meaning: for `--config help`.
std::string session_keys_help();

}  // namespace rangefinder::cli
