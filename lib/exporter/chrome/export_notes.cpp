// SPDX-License-Identifier: MIT
#include "exporter/chrome/export_notes.hpp"

#include "base/text.hpp"

namespace rangefinder::chrome {
namespace {

struct Wording {
  std::string_view text;
  bool lost;
};

constexpr std::array<Wording, ExportNotes::kCauses> kWordings{{
    {"slices would have cut another on their row and stand on a row beside it", false},
    {"arrows left out: the activity ended before its call began, within the clocks' error", true},
    {"arrows left out: a slice without length, or none written, at one end", true},
    {"ranges on a stream left out: nested deeper than 64", true},
    {"counter samples left out: not finite", true},
    {"flows of the input left out: one end only", true},
    {"events of the input left out: of a kind that viewers do not take from this format", true},
    {"events of the input left out: not JSON", true},
    {"arguments of the input left out: not JSON", true},
    {"device rows came too late to be put in order; they stand on rows beside their own where they cut others", false},
}};

}  // namespace

std::uint64_t ExportNotes::left_out() const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) sum += kWordings[i].lost ? counts_[i] : 0;
  return sum;
}

std::vector<std::string> ExportNotes::texts() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] != 0) out.push_back(base::with_thousands(counts_[i]) + " " + std::string(kWordings[i].text));
  }
  return out;
}

}  // namespace rangefinder::chrome
