// SPDX-License-Identifier: MIT
#include "report/footer.hpp"

#include "base/colour.hpp"
#include "base/text.hpp"
#include "report/units.hpp"
#include "report/wrapped.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rangefinder::report {
namespace {

struct NamedPart {
  std::string_view key;
  std::string_view text;
  const Account::Part& part;
};

std::array<NamedPart, 4> parts_of(const Account& account) {
  return {NamedPart{"owned", "owned by ranges", account.owned},
          {"outside", "launched outside any range", account.outside},
          {"before", "launched before the recording", account.before},
          {"unknown", "launch unknown", account.unknown}};
}

// "61.3 %" of the total, in integers.
std::string share(std::int64_t part, std::int64_t total) {
  if (total <= 0) return "0.0 %";
  const auto tenths = (static_cast<__int128>(part) * 2000 + total) / (static_cast<__int128>(total) * 2);
  return plain_number(static_cast<std::int64_t>(tenths), 1) + " %";
}

std::string operations(std::uint64_t count) {
  return base::with_thousands(count) + (count == 1 ? " operation" : " operations");
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t taken = base::display_width(text);
  const std::string padding(width > taken ? width - taken : 0, ' ');
  return right ? padding + text : text + padding;
}

constexpr std::string_view kNotRecorded = "device activity was not recorded: ";

/// "no NVIDIA driver in this process" of a note that also says which file the loader did not find.
std::string short_reason(std::string_view note) {
  constexpr std::string_view kHostOnly = "host_only: ";
  note.remove_prefix(kNotRecorded.size());
  if (note.starts_with(kHostOnly)) note.remove_prefix(kHostOnly.size());
  return base::printable(note.substr(0, note.find(" (")));
}

void append_account(std::string& out, const Account& account) {
  out += "device time  " + readable_time(account.total.gpu_sum_ns) + " in " + operations(account.total.gpu_ops) + "\n";
  for (const NamedPart& part : parts_of(account))
    out += "  " + padded(std::string(part.text), 29, false) + "  " +
           padded(readable_time(part.part.gpu_sum_ns), 9, true) + "  " +
           padded(share(part.part.gpu_sum_ns, account.total.gpu_sum_ns), 7, true) + "  " +
           operations(part.part.gpu_ops) + "\n";
}

void append_json_part(std::string& out, std::string_view key, const Account::Part& part) {
  base::append_json_string(out, key);
  out +=
      ": {\"gpu_ops\": " + std::to_string(part.gpu_ops) + ", \"gpu_sum_ns\": " + std::to_string(part.gpu_sum_ns) + "}";
}

}  // namespace

Footer make_footer(const Timeline& timeline, const std::optional<Account>& account) {
  Footer footer;
  footer.account = account;
  footer.simulated = timeline.simulated;
  footer.notes = timeline.notes;
  for (const CaptureHealth::Entry& entry : timeline.health.entries())
    if (entry.count != 0) footer.health.push_back(entry);
  return footer;
}

std::string profiling_note(std::int64_t cost_ns, std::int64_t recorded_ns) {
  constexpr std::int64_t kWorthALine = 20;  // one twentieth of the recording
  if (recorded_ns <= 0 || cost_ns <= recorded_ns / kWorthALine) return {};
  return "profiling overhead is " + share(cost_ns, recorded_ns) + " of the recording, " + readable_time(cost_ns) +
         "; for details: --view overhead";
}

std::string to_text(const Footer& footer, const TextOptions& options) {
  std::string out;
  constexpr std::size_t kNarrowestLine = 20;
  const auto line = [&](std::string_view colour, const std::string& text, std::size_t indent) {
    if (options.colour) out += colour;
    out += wrapped(text, options.width == 0 ? 0 : std::max(options.width, kNarrowestLine), indent);
    if (options.colour) out += base::colour::kPlain;
    out += '\n';
  };
  if (footer.simulated) line(base::colour::kYellow, "simulated: the device records come from a script", 0);
  const bool device_worked = footer.account && footer.account->total.gpu_ops != 0;
  const auto why = std::find_if(footer.notes.begin(), footer.notes.end(),
                                [](const std::string& note) { return note.starts_with(kNotRecorded); });
  const bool told = footer.account && !device_worked && why != footer.notes.end();
  if (device_worked)
    append_account(out, *footer.account);
  else if (footer.account)
    line({}, "device time  none" + (told ? ": " + short_reason(*why) : std::string()), 13);
  for (const CaptureHealth::Entry& entry : footer.health) {
    const bool loss = entry.severity == CaptureHealth::Severity::kLoss;
    line(loss ? base::colour::kYellow : base::colour::kDim,
         std::string(loss ? "lost  " : "note  ") + base::with_thousands(entry.count) + " " + std::string(entry.text),
         6);
  }
  for (const std::string& note : footer.notes)
    if (!told || note != *why) line(base::colour::kDim, "note  " + base::printable(note), 6);
  return out;
}

void append_json_members(std::string& out, const Footer& footer) {
  out += "\"account\": ";
  if (footer.account) {
    out += '{';
    append_json_part(out, "total", footer.account->total);
    for (const NamedPart& part : parts_of(*footer.account)) {
      out += ", ";
      append_json_part(out, part.key, part.part);
    }
    out += '}';
  } else {
    out += "null";
  }
  out += ",\n  \"health\": [";
  for (std::size_t i = 0; i < footer.health.size(); ++i) {
    const CaptureHealth::Entry& entry = footer.health[i];
    out += i == 0 ? "{\"counter\": " : ", {\"counter\": ";
    base::append_json_string(out, entry.name);
    out += ", \"count\": " + std::to_string(entry.count) + ", \"severity\": ";
    out += entry.severity == CaptureHealth::Severity::kLoss ? "\"loss\"" : "\"note\"";
    out += ", \"text\": ";
    base::append_json_string(out, entry.text);
    out += '}';
  }
  out += "],\n  \"notes\": [";
  for (std::size_t i = 0; i < footer.notes.size(); ++i) {
    if (i != 0) out += ", ";
    base::append_json_string(out, footer.notes[i]);
  }
  out += "],\n  \"simulated\": ";
  out += footer.simulated ? "true" : "false";
}

}  // namespace rangefinder::report
