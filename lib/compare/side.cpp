// SPDX-License-Identifier: MIT
#include "compare/side.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace rangefinder::compare {
namespace {

/// Numbers of a run, as numbers of the side.
using Numbers = std::vector<std::uint32_t>;

class Names {
 public:
  explicit Names(std::vector<std::string>& texts) : texts_(texts) {}
  Numbers add(const std::vector<std::string>& of_run) {
    Numbers numbers;
    for (const std::string& text : of_run) {
      const auto [place, is_new] = known_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
      if (is_new) texts_.push_back(text);
      numbers.push_back(place->second);
    }
    return numbers;
  }

 private:
  std::vector<std::string>& texts_;
  std::unordered_map<std::string, std::uint32_t> known_;
};

class PathNames {
 public:
  explicit PathNames(std::vector<PathNode>& nodes) : nodes_(nodes) {}
  Numbers add(const std::vector<PathNode>& of_run) {
    Numbers numbers;
    for (const PathNode& node : of_run) {
      // A path stands behind the one around it: in what a file may hold, too.
      const std::uint32_t around = node.around < numbers.size() ? numbers[node.around] : std::uint32_t{kNone};
      const auto [place, is_new] = known_.try_emplace({around, node.name}, static_cast<std::uint32_t>(nodes_.size()));
      if (is_new) nodes_.push_back({around, node.name});
      numbers.push_back(place->second);
    }
    return numbers;
  }

 private:
  std::vector<PathNode>& nodes_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> known_;
};

std::uint32_t number_in(const Numbers& numbers, std::uint32_t of_run) noexcept {
  return of_run < numbers.size() ? numbers[of_run] : std::uint32_t{kNone};
}

void add_up_equal(std::vector<Cell>& cells) {
  std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) { return key_of(a) < key_of(b); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (kept != 0 && key_of(cells[kept - 1]) == key_of(cells[i]))
      cells[kept - 1].amounts.add(cells[i].amounts);
    else
      cells[kept++] = cells[i];
  }
  cells.resize(kept);
}

}  // namespace

Side::Side(std::span<const Run> of_runs) : runs(of_runs) {
  PathNames path_names(paths);
  Names operator_names(operators), family_names(kernel_families), collective_names(collectives);
  std::vector<std::array<Numbers, kSubjectKinds>> numbers;
  for (const Run& run : runs) {
    numbers.push_back({Numbers{0}, path_names.add(run.paths), operator_names.add(run.operators),
                       family_names.add(run.kernel_families), collective_names.add(run.collectives)});
    counted_steps += run.counted_steps();
    const auto& of = numbers.back();
    for (const Cell& cell : run.cells)
      cells.push_back({number_in(of[1], cell.path), number_in(of[2], cell.op), number_in(of[3], cell.kernel_family),
                       number_in(of[4], cell.collective), cell.kernel, cell.amounts});
  }
  add_up_equal(cells);
  const std::array<std::size_t, kSubjectKinds> counts{1, paths.size(), operators.size(), kernel_families.size(),
                                                      collectives.size()};
  for (std::size_t kind = 0; kind < kSubjectKinds; ++kind)
    subjects[kind].assign(counts[kind], std::vector<const Subject*>(runs.size(), nullptr));
  for (std::size_t run = 0; run < runs.size(); ++run)
    for (const Subject& subject : runs[run].subjects) {
      const auto kind = static_cast<std::size_t>(subject.kind);
      if (kind >= kSubjectKinds) continue;
      const std::uint32_t index = number_in(numbers[run][kind], subject.index);
      if (index != kNone) subjects[kind][index][run] = &subject;
    }
}

std::vector<std::vector<double>> Side::series(SubjectKind kind, std::uint32_t index) const {
  const auto& of_kind = subjects[static_cast<std::size_t>(kind)];
  std::vector<std::vector<double>> values;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const Subject* const subject = index < of_kind.size() ? of_kind[index][run] : nullptr;
    values.push_back(series_of(runs[run], subject != nullptr ? *subject : Subject{.kind = kind}));
  }
  return values;
}

}  // namespace rangefinder::compare
