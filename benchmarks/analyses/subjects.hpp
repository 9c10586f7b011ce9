// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <functional>
#include <string>
#include <vector>

namespace bench {

/// Something that is asked of a timeline. `run` throws where the answer is an error or empty.
struct Subject {
  std::string name;  ///< "breakdown() by step", "tree --fold"
  std::function<void(const rangefinder::Timeline&)> run;
};

/// The analyses of the library, then all views of reports in each of their forms.
std::vector<Subject> all_subjects();

/// What the timeline lacks for a subject of that name; empty: nothing.
std::string missing_for(const std::string& subject, const rangefinder::Timeline& timeline);

/// Throws unless the analyses find in the job what it does: what is fast because it is wrong does not count.
void check_answers(const rangefinder::Timeline& timeline);

}  // namespace bench
