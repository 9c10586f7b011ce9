// SPDX-License-Identifier: MIT
#include "compare/divided_rows.hpp"

#include <algorithm>
#include <span>
#include <tuple>

namespace rangefinder::compare {
namespace {

constexpr std::size_t index_of(SubjectKind kind) noexcept { return static_cast<std::size_t>(kind); }

std::uint32_t row_in(const std::vector<std::uint32_t>& rows, std::uint32_t number) noexcept {
  return number < rows.size() ? rows[number] : std::uint32_t{kNone};
}

/// Calls `use` for each run of cells with equal keys.
template <typename Cells, typename KeyOf, typename Use>
void for_each_group(Cells cells, KeyOf key_of_cell, Use use) {
  for (std::size_t first = 0; first < cells.size();) {
    std::size_t last = first + 1;
    while (last < cells.size() && key_of_cell(cells[last]) == key_of_cell(cells[first])) ++last;
    use(cells.subspan(first, last - first));
    first = last;
  }
}

bool is_nothing(const Amounts& amounts) noexcept { return amounts == Amounts(); }

}  // namespace

DividedRows::DividedRows(const Side& baseline, const Side& candidate)
    : baseline_(baseline), candidate_(candidate), paths_(align_paths(baseline.paths, candidate.paths)) {
  rows_[index_of(SubjectKind::kStep)].resize(1);
  sides_[index_of(SubjectKind::kStep)] = {{0, 0}};
  auto& path_rows = rows_[index_of(SubjectKind::kPath)];
  auto& path_sides = sides_[index_of(SubjectKind::kPath)];
  path_rows.resize(candidate.paths.size() + baseline.paths.size());
  for (std::uint32_t path = 0; path < candidate.paths.size(); ++path)
    path_sides.emplace_back(paths_.baseline_of[path], path);
  for (std::uint32_t path = 0; path < baseline.paths.size(); ++path) path_sides.emplace_back(path, kNone);
  number_names(SubjectKind::kOperator, baseline.operators, candidate.operators);
  number_names(SubjectKind::kKernelFamily, baseline.kernel_families, candidate.kernel_families);
  number_names(SubjectKind::kCollective, baseline.collectives, candidate.collectives);

  const std::vector<PairedCell> cells = paired_cells();
  const auto place_of = [](const PairedCell& cell) {
    return std::pair(cell.row[index_of(SubjectKind::kPath)], cell.row[index_of(SubjectKind::kOperator)]);
  };
  for_each_group(std::span(cells), place_of, [this](std::span<const PairedCell> place) { add_place(place); });
}

std::pair<std::uint32_t, std::uint32_t> DividedRows::sides_of(SubjectKind kind, std::uint32_t row) const noexcept {
  return sides_[index_of(kind)][row];
}

void DividedRows::number_names(SubjectKind kind, const std::vector<std::string>& baseline,
                               const std::vector<std::string>& candidate) {
  std::unordered_map<std::string, std::uint32_t> known;
  auto& sides = sides_[index_of(kind)];
  const auto number = [&](const std::vector<std::string>& names, std::vector<std::uint32_t>& rows,
                          std::uint32_t std::pair<std::uint32_t, std::uint32_t>::*side) {
    for (const std::string& name : names) {
      const auto [place, is_new] = known.try_emplace(name, static_cast<std::uint32_t>(sides.size()));
      if (is_new) sides.emplace_back(kNone, kNone);
      sides[place->second].*side = static_cast<std::uint32_t>(rows.size());
      rows.push_back(place->second);
    }
  };
  number(baseline, baseline_row_[index_of(kind)], &std::pair<std::uint32_t, std::uint32_t>::first);
  number(candidate, candidate_row_[index_of(kind)], &std::pair<std::uint32_t, std::uint32_t>::second);
  rows_[index_of(kind)].resize(sides.size());
}

std::uint32_t DividedRows::row_of_path(bool of_candidate, std::uint32_t path) const noexcept {
  if (path == kNone || of_candidate) return path;
  const std::uint32_t same = paths_.candidate_of[path];
  return same != kNone ? same : static_cast<std::uint32_t>(candidate_.paths.size()) + path;
}

/// In order of path, operator, family, collective and kernel.
std::vector<DividedRows::PairedCell> DividedRows::paired_cells() const {
  std::vector<PairedCell> cells;
  const auto add_side = [&](const Side& side, bool of_candidate) {
    const auto& rows = of_candidate ? candidate_row_ : baseline_row_;
    for (const Cell& cell : side.cells) {
      PairedCell paired;
      paired.row = {0, row_of_path(of_candidate, cell.path), row_in(rows[index_of(SubjectKind::kOperator)], cell.op),
                    row_in(rows[index_of(SubjectKind::kKernelFamily)], cell.kernel_family),
                    row_in(rows[index_of(SubjectKind::kCollective)], cell.collective)};
      paired.kernel = cell.kernel;
      (of_candidate ? paired.candidate : paired.baseline) = cell.amounts;
      cells.push_back(paired);
    }
  };
  add_side(baseline_, false);
  add_side(candidate_, true);
  const auto key = [](const PairedCell& cell) { return std::tie(cell.row, cell.kernel); };
  std::stable_sort(cells.begin(), cells.end(),
                   [&](const PairedCell& a, const PairedCell& b) { return key(a) < key(b); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (kept != 0 && key(cells[kept - 1]) == key(cells[i])) {
      cells[kept - 1].baseline.add(cells[i].baseline);
      cells[kept - 1].candidate.add(cells[i].candidate);
    } else {
      cells[kept++] = cells[i];
    }
  }
  cells.resize(kept);
  return cells;
}

DividedRow DividedRows::divided(const Amounts& baseline, const Amounts& candidate, bool is_there) const noexcept {
  return {baseline, candidate,
          divide(mean_of(baseline, baseline_.counted_steps), mean_of(candidate, candidate_.counted_steps), is_there),
          true};
}

DividedRow DividedRows::divided_if_on_both(const PairedCell& cell) const noexcept {
  return divided(cell.baseline, cell.candidate, cell.baseline.ops != 0 && cell.candidate.ops != 0);
}

void DividedRows::add(SubjectKind kind, std::uint32_t row, const DividedRow& amounts) {
  if (row == kNone) return;
  DividedRow& to = rows_[index_of(kind)][row];
  to.baseline.add(amounts.baseline);
  to.candidate.add(amounts.candidate);
  to.parts.add(amounts.parts);
  to.occurs = true;
}

/// The cells of one operator in one path.
void DividedRows::add_place(std::span<const PairedCell> cells) {
  const auto& rows = cells.front().row;
  Amounts baseline, candidate;
  for (const PairedCell& cell : cells) {
    baseline.add(cell.baseline);
    candidate.add(cell.candidate);
  }
  const std::uint32_t path = rows[index_of(SubjectKind::kPath)], op = rows[index_of(SubjectKind::kOperator)];
  DividedRow place{baseline, candidate, {}, true};
  PairedCell alone;  // work whose family is on one side only
  for_each_group(
      cells, [](const PairedCell& cell) { return cell.row; },
      [&](std::span<const PairedCell> of_family) {
        if (of_family.front().row[index_of(SubjectKind::kKernelFamily)] != kNone)
          return add_family(of_family, place, alone);
        // Time without work. What stands in no path and no operator is there in every run.
        const bool is_there = (path == kNone && op == kNone) || (!is_nothing(baseline) && !is_nothing(candidate));
        for (const PairedCell& cell : of_family)
          place.parts.add(divided(cell.baseline, cell.candidate, is_there).parts);
      });
  place.parts.add(divided_if_on_both(alone).parts);
  add(SubjectKind::kOperator, op, place);
  if (path != kNone && op == kNone) {  // calls of a path are its own
    DividedRow& row = rows_[index_of(SubjectKind::kPath)][path];
    row.baseline.calls += baseline.calls;
    row.candidate.calls += candidate.calls;
  }
  place.baseline.calls = place.candidate.calls = baseline.calls = candidate.calls = 0;
  add(SubjectKind::kStep, 0, place);
  if (path != kNone) add_to_paths(path, place, divided(baseline, {}, false), divided({}, candidate, false));
}

/// Kernels of one family and collective in a place, to which their parts are added; or they are put to what is `alone`.
void DividedRows::add_family(std::span<const PairedCell> cells, DividedRow& place, PairedCell& alone) {
  DividedRow family{{}, {}, {}, true};
  PairedCell unmatched;
  for (const PairedCell& cell : cells) {
    family.baseline.add(cell.baseline);
    family.candidate.add(cell.candidate);
    if (is_nothing(cell.baseline) || is_nothing(cell.candidate)) {
      unmatched.baseline.add(cell.baseline);
      unmatched.candidate.add(cell.candidate);
    } else {
      family.parts.add(divided(cell.baseline, cell.candidate, true).parts);
    }
  }
  place.parts.add(family.parts);
  const DividedRow others = divided_if_on_both(unmatched);
  family.parts.add(others.parts);
  if (is_nothing(unmatched.baseline) != is_nothing(unmatched.candidate)) {
    alone.baseline.add(unmatched.baseline);
    alone.candidate.add(unmatched.candidate);
  } else {
    place.parts.add(others.parts);
  }
  add(SubjectKind::kKernelFamily, cells.front().row[index_of(SubjectKind::kKernelFamily)], family);
  add(SubjectKind::kCollective, cells.front().row[index_of(SubjectKind::kCollective)], family);
}

/// A path that was around it in the baseline alone lost it (`left`), one that is around it in the candidate alone got
/// it (`come`); but a level that one side has and the other has not takes what both sides have of what is in it.
void DividedRows::add_to_paths(std::uint32_t path, const DividedRow& whole, const DividedRow& left,
                               const DividedRow& come) {
  const auto [in_baseline, in_candidate] = sides_of(SubjectKind::kPath, path);
  std::vector<std::uint32_t> around_baseline, around_candidate;
  for (std::uint32_t at = in_baseline; at != kNone; at = baseline_.paths[at].around)
    around_baseline.push_back(row_of_path(false, at));
  for (std::uint32_t at = in_candidate; at != kNone; at = candidate_.paths[at].around) around_candidate.push_back(at);
  const auto is_in = [](const std::vector<std::uint32_t>& rows, std::uint32_t row) {
    return std::find(rows.begin(), rows.end(), row) != rows.end();
  };
  const auto is_on_both_sides = [&](std::uint32_t row) {
    const auto& [baseline, candidate] = sides_of(SubjectKind::kPath, row);
    return baseline != kNone && candidate != kNone;
  };
  for (const std::uint32_t row : around_baseline) {
    const bool lost = is_on_both_sides(row) && !is_in(around_candidate, row);
    add(SubjectKind::kPath, row, lost ? left : whole);
  }
  for (const std::uint32_t row : around_candidate) {
    if (is_in(around_baseline, row)) continue;
    add(SubjectKind::kPath, row, is_on_both_sides(row) ? come : whole);
  }
}

}  // namespace rangefinder::compare
