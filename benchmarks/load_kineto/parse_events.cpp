// SPDX-License-Identifier: MIT
//
// The events of a torch.profiler trace, read from text that is in memory: by our reader, and by simdjson.
//
//   bench_parse_events TRACE.json|TRACE.json.gz [--rounds N]
//
// Both take the same members: phase, category, name, process, thread, begin and duration, and of args those that a
// table has a column for. A round reads the whole text once; the cases take turns.
#include "common/cases.hpp"
#include "importer/kineto/event.hpp"
#include "trace_text.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace kineto = rangefinder::importer::kineto;

/// What was read, so that nothing is left out or optimised away.
struct Sum {
  std::uint64_t events = 0, complete = 0, name_bytes = 0, category_bytes = 0;
  std::int64_t correlations = 0, external_ids = 0, bytes = 0;
  double durations_us = 0;
};

/// Behind the bracket that opens the events.
std::size_t first_event(std::string_view text) {
  const std::size_t key = text.find("\"traceEvents\"");
  const std::size_t bracket = key == std::string_view::npos ? key : text.find('[', key);
  if (bracket == std::string_view::npos) throw std::runtime_error("no traceEvents in this file");
  return bracket + 1;
}

Sum by_our_reader(const std::string& text, std::size_t begin) {
  Sum sum;
  kineto::EventReader reader;
  kineto::Event event;
  kineto::Cursor cursor{text.data() + begin, text.data() + text.size() - kineto::kPadding, ""};
  for (;;) {
    cursor.at = kineto::skip_space(cursor.at);
    if (*cursor.at == ',') cursor.at = kineto::skip_space(cursor.at + 1);
    if (*cursor.at == ']') return sum;
    if (reader.read(cursor, event) != kineto::Scan::kOk) throw std::runtime_error("our reader: no event");
    ++sum.events;
    sum.name_bytes += event.name.bytes.size();
    sum.category_bytes += event.category.bytes.size();
    if (event.phase != 'X') continue;
    ++sum.complete;
    sum.durations_us += static_cast<double>(event.duration.ns) * 1e-3;
    const kineto::EventArguments& arguments = event.arguments;
    if (arguments.has(kineto::EventArguments::kCorrelation)) sum.correlations += arguments.correlation;
    if (arguments.has(kineto::EventArguments::kExternalId)) sum.external_ids += arguments.external_id;
    if (arguments.has(kineto::EventArguments::kBytes)) sum.bytes += arguments.bytes;
  }
}

using simdjson::ondemand::json_type;
using simdjson::ondemand::object;
using simdjson::ondemand::value;

/// Numbers that some versions write as text; 0 for anything else, as "N/A".
std::int64_t integer_of(value from) {
  std::int64_t number = 0;
  if (from.type() == json_type::string)
    return std::strtoll(std::string(from.get_string().value()).c_str(), nullptr, 10);
  if (from.type() == json_type::number && from.get_int64().get(number) == simdjson::SUCCESS) return number;
  return 0;
}

void take_arguments(object arguments, Sum& sum) {
  for (auto member : arguments) {
    const std::string_view key = member.unescaped_key();
    if (key == "correlation") sum.correlations += integer_of(member.value());
    if (key == "External id" || key == "external id") sum.external_ids += integer_of(member.value());
    if (key == "bytes") sum.bytes += integer_of(member.value());
  }
}

Sum by_simdjson(simdjson::ondemand::parser& parser, const simdjson::padded_string& text) {
  Sum sum;
  auto document = parser.iterate(text);
  for (object event : document["traceEvents"].get_array()) {
    ++sum.events;
    bool complete = false;
    for (auto member : event) {
      const std::string_view key = member.unescaped_key();
      value field = member.value();
      if (key == "ph") {
        complete = field.get_string().value() == "X";
        if (complete) ++sum.complete;
      } else if (key == "name") {
        sum.name_bytes += field.raw_json_token().size() - 2;
      } else if (key == "cat") {
        sum.category_bytes += field.raw_json_token().size() - 2;
      } else if (key == "dur") {
        sum.durations_us += field.get_double().value();
      } else if (key == "ts") {
        sum.durations_us += 0 * field.get_double().value();
      } else if (key == "args" && complete && field.type() == json_type::object) {
        take_arguments(field.get_object(), sum);
      }
    }
  }
  return sum;
}

std::string remark(const Sum& sum) {
  return fmt::format("{} events, {} complete, correlations {}, external ids {}", sum.events, sum.complete,
                     sum.correlations, sum.external_ids);
}

}  // namespace

int main(int argc, char** argv) try {
  bench::Options options;
  options.rounds = 15;
  options.per_round = 1;
  options.floor = "rangefinder";
  std::string path;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--rounds" && i + 1 < argc)
      options.rounds = std::max(1, std::atoi(argv[++i]));
    else
      path = word;
  }
  if (path.empty()) {
    fmt::print(stderr, "usage: bench_parse_events TRACE.json|TRACE.json.gz [--rounds N]\n");
    return 2;
  }
  std::string text;
  if (const rangefinder::Status read = rangefinder::bench::read_trace_text(path, &text); !read)
    throw std::runtime_error(read.error().message());
  const std::size_t begin = first_event(text);
  const simdjson::padded_string padded(text);
  text.append(kineto::kPadding, '\0');
  Sum ours, theirs;
  simdjson::ondemand::parser parser;
  const std::vector<bench::Case> cases{{.name = "rangefinder",
                                        .what = "EventReader",
                                        .run =
                                            [&](std::uint64_t n) {
                                              for (; n > 0; --n) ours = by_our_reader(text, begin);
                                            },
                                        .finish = [&] { return remark(ours); }},
                                       {.name = "simdjson",
                                        .what = "On Demand, " + simdjson::get_active_implementation()->name(),
                                        .run =
                                            [&](std::uint64_t n) {
                                              for (; n > 0; --n) theirs = by_simdjson(parser, padded);
                                            },
                                        .finish = [&] { return remark(theirs); }}};
  fmt::print("{}: {:.1f} MB of text\n", path, static_cast<double>(padded.size()) * 1e-6);
  bench::print(bench::measure(cases, options), options);
  return bench::exit_code();
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_parse_events: {}\n", error.what());
  return 2;
}
