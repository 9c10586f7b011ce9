// SPDX-License-Identifier: MIT
#include "compare/run_cells.hpp"

#include "base/checksum.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace rangefinder::compare {
namespace {

std::uint64_t pair_of(std::uint32_t high, std::uint32_t low) noexcept { return std::uint64_t{high} << 32 | low; }

std::uint32_t number_in(projection::FlatMap& map, std::uint64_t key) {
  return map.find_or_set(key, static_cast<std::uint32_t>(map.size()));
}

/// Adds to the last step of the subject, or to a new one: steps come in order.
void add_to(Subject& subject, std::uint32_t step, const Amounts& amounts) {
  if (subject.by_step.empty() || subject.by_step.back().first != step) subject.by_step.emplace_back(step, Amounts());
  subject.by_step.back().second.add(amounts);
}

std::vector<Subject> empty_subjects(SubjectKind kind, std::size_t count) {
  std::vector<Subject> subjects(count);
  for (std::size_t i = 0; i < count; ++i) {
    subjects[i].kind = kind;
    subjects[i].index = static_cast<std::uint32_t>(i);
  }
  return subjects;
}

/// The same on every machine.
std::uint64_t hash_of(std::string_view name) noexcept {
  return name.empty() ? 0 : base::checksum(std::as_bytes(std::span(name)));
}

}  // namespace

std::uint32_t RunCells::cell(const CellKey& key) {
  const std::uint32_t place = number_in(places_, pair_of(key.path, key.op));
  const std::uint32_t work = number_in(works_, pair_of(key.kernel_family, key.collective));
  const std::uint32_t kind = number_in(kinds_, pair_of(place, work));
  const std::uint32_t cell = number_in(cells_, pair_of(kind, static_cast<std::uint32_t>(key.kernel)));
  if (cell == keys_.size()) keys_.push_back(key);
  return cell;
}

Amounts& RunCells::at(std::uint32_t step, std::uint32_t cell) {
  const std::uint32_t row = number_in(rows_, pair_of(step, cell));
  if (row == entries_.size()) entries_.push_back({step, cell, {}});
  return entries_[row].amounts;
}

void RunCells::forget_calls(const std::vector<bool>& of_paths) {
  for (Entry& entry : entries_) {
    const CellKey& key = keys_[entry.cell];
    if (key.op == kNone && key.path < of_paths.size() && of_paths[key.path]) entry.amounts.calls = 0;
  }
}

void RunCells::fill(const Timeline& timeline, Run& run) && {
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.step, a.cell) < std::tie(b.step, b.cell); });
  add_subjects(run);
  add_cells(timeline, run);
}

void RunCells::add_subjects(Run& run) const {
  std::array<std::vector<Subject>, kSubjectKinds> by_kind{
      empty_subjects(SubjectKind::kStep, 1), empty_subjects(SubjectKind::kPath, run.paths.size()),
      empty_subjects(SubjectKind::kOperator, run.operators.size()),
      empty_subjects(SubjectKind::kKernelFamily, run.kernel_families.size()),
      empty_subjects(SubjectKind::kCollective, run.collectives.size())};
  const auto add = [&](SubjectKind kind, std::uint32_t index, const Entry& entry) {
    if (index != kNone) add_to(by_kind[static_cast<std::size_t>(kind)][index], entry.step, entry.amounts);
  };
  for (const Entry& entry : entries_) {
    const CellKey& key = keys_[entry.cell];
    Entry of_those_around = entry;  // whose calls are their own
    of_those_around.amounts.calls = 0;
    add(SubjectKind::kStep, 0, of_those_around);
    for (std::uint32_t path = key.path; path != kNone; path = run.paths[path].around)
      add(SubjectKind::kPath, path, path == key.path && key.op == kNone ? entry : of_those_around);
    add(SubjectKind::kOperator, key.op, entry);
    add(SubjectKind::kKernelFamily, key.kernel_family, entry);
    add(SubjectKind::kCollective, key.collective, entry);
  }
  for (std::vector<Subject>& subjects : by_kind)
    for (Subject& subject : subjects)
      if (!subject.by_step.empty()) run.subjects.push_back(std::move(subject));
}

void RunCells::add_cells(const Timeline& timeline, Run& run) const {
  std::vector<Cell> cells(keys_.size());
  std::vector<bool> occurs(keys_.size());
  for (std::size_t i = 0; i < keys_.size(); ++i)
    cells[i] = {keys_[i].path,
                keys_[i].op,
                keys_[i].kernel_family,
                keys_[i].collective,
                hash_of(timeline.text(keys_[i].kernel)),
                {}};
  for (const Entry& entry : entries_) {
    if (!run.steps[entry.step].counts()) continue;
    cells[entry.cell].amounts.add(entry.amounts);
    occurs[entry.cell] = true;
  }
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (occurs[i]) run.cells.push_back(cells[i]);
  std::sort(run.cells.begin(), run.cells.end(), [](const Cell& a, const Cell& b) { return key_of(a) < key_of(b); });
}

}  // namespace rangefinder::compare
