// SPDX-License-Identifier: MIT
#include "capi/text.hpp"

const char* rf_text_data(const rf_text* text) noexcept { return text != nullptr ? text->text.c_str() : ""; }
size_t rf_text_size(const rf_text* text) noexcept { return text != nullptr ? text->text.size() : 0; }
void rf_text_free(rf_text* text) noexcept { delete text; }
