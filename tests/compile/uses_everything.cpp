// SPDX-License-Identifier: MIT
//
// Every way to write a range, in a program that counts what was recorded of them.
#include <rangefinder/rangefinder.hpp>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

// The same in a file where ranges are compiled out.
void switched_off();

namespace {

enum class Phase : std::uint8_t { kForward };

void ranges() {
  static const rangefinder::RangeName name{"name"};
  static const rangefinder::Category category{"category"};
  const std::string text = "text";
  char buffer[] = "buffer";
  const rangefinder::ProfileRange of_literal{"literal"};
  const rangefinder::ProfileRange of_literal_in_category{"literal", category};
  const rangefinder::ProfileRange of_name{name};
  const rangefinder::ProfileRange of_name_in_category{name, category};
  const rangefinder::ProfileRange of_text{text};
  const rangefinder::ProfileRange of_view{std::string_view(text), rangefinder::Category::operators()};
  const rangefinder::ProfileRange of_buffer{buffer};
  const rangefinder::ProfileRange with_number{"literal", 1};
  const rangefinder::ProfileRange with_size{"literal", text.size()};
  const rangefinder::ProfileRange with_double{"literal", 1.5f};
  const rangefinder::ProfileRange with_enum{"literal", Phase::kForward};
  const rangefinder::ProfileRange with_text{text, category, "value"};
  const rangefinder::ProfileRange with_literal_text{"literal", "value"};
  const rangefinder::ProfileRange of_literal_in_category_with_number{"literal", category, 1};
  const rangefinder::ProfileRange of_name_with_number{name, 2};
  const rangefinder::ProfileRange of_name_in_category_with_number{name, category, 3};
  const rangefinder::ProfileRange of_text_with_number{text, 4};
  const rangefinder::ProfileRange of_buffer_with_number{buffer, 5};
  RANGEFINDER_RANGE("macro");
  RANGEFINDER_RANGE("macro", category);
  rangefinder::mark("mark");
  rangefinder::mark(text, true);
  rangefinder::counter("counter", 1u);
  rangefinder::counter(name, Phase::kForward);
  rangefinder::end_range(rangefinder::start_range(text, category));
  rangefinder::UniqueRange unique{"unique", category};
  rangefinder::UniqueRange moved = std::move(unique);
  unique = rangefinder::UniqueRange{"another"};
  moved.end();
}

}  // namespace

int main(int, char** argv) {
  rangefinder::SessionOptions options;
  options.output = argv[1];
  options.cuda = false;
  rangefinder::Session session(options);
  if (!session.status().ok()) return std::fprintf(stderr, "%s\n", session.status().error().message().c_str()), 1;
  ranges();
  switched_off();
  if (!session.stop().ok()) return 1;
  const rangefinder::Result<rangefinder::Timeline> timeline = rangefinder::load_timeline(options.output);
  if (!timeline) return 1;
  constexpr std::size_t kScoped = 20, kStartEnd = 3;
  const bool right = timeline->ranges.size() == kScoped + kStartEnd && timeline->marks.size() == 2 &&
                     timeline->counters.size() == 2 && timeline->attachments.size() == 12;
  if (!right)
    std::fprintf(stderr, "%zu ranges, %zu marks, %zu samples, %zu values\n", timeline->ranges.size(),
                 timeline->marks.size(), timeline->counters.size(), timeline->attachments.size());
  return right ? 0 : 1;
}
