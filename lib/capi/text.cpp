// SPDX-License-Identifier: MIT
#include "capi/text.hpp"

rf_status rangefinder::capi::read_texts(std::string_view function, std::string_view argument, const char* const* given,
                                        std::size_t count, std::vector<std::string>& texts) {
  if (given == nullptr && count != 0) return null_argument(function, argument);
  for (std::size_t i = 0; i < count; ++i) {
    if (given[i] == nullptr) return null_argument(function, std::string(argument) + ", one of them");
    texts.emplace_back(given[i]);
  }
  return RF_STATUS_OK;
}

const char* rf_text_data(const rf_text* text) noexcept { return text != nullptr ? text->text.c_str() : ""; }
size_t rf_text_size(const rf_text* text) noexcept { return text != nullptr ? text->text.size() : 0; }
void rf_text_free(rf_text* text) noexcept { delete text; }
