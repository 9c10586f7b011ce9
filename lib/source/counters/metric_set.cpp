// SPDX-License-Identifier: MIT
#include "source/counters/metric_set.hpp"

#include "base/lists.hpp"
#include "base/text.hpp"
#include "source/cupti/cupti_error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rangefinder::source::counters {
namespace {

Error failed(const char* call, CUptiResult result) {
  return Error(ErrorCode::kUnsupported, cupti::describe_failure(call, result));
}

CUpti_ProfilerType profiler_type(Collection collection) noexcept {
  return collection == Collection::kRanges ? CUPTI_PROFILER_TYPE_RANGE_PROFILER : CUPTI_PROFILER_TYPE_PM_SAMPLING;
}

}  // namespace

/// CUPTI's own view of a chip. Metrics are added once; another choice takes another host.
class MetricSet::Host {
 public:
  static Result<std::unique_ptr<Host>> open(const ProfilerApi& api, const std::string& chip, Collection collection) {
    auto params = sized<CUpti_Profiler_Host_Initialize_Params>(CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);
    params.profilerType = profiler_type(collection);
    params.pChipName = chip.c_str();
    if (const CUptiResult result = api.cuptiProfilerHostInitialize(&params); result != CUPTI_SUCCESS)
      return failed("cuptiProfilerHostInitialize", result).with_context("chip " + base::printable(chip));
    return std::unique_ptr<Host>(new Host(api, params.pHostObject));
  }
  ~Host() {
    auto params = sized<CUpti_Profiler_Host_Deinitialize_Params>(CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
    params.pHostObject = object_;
    (void)api_.cuptiProfilerHostDeinitialize(&params);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  bool add(std::span<const char* const> metrics) const {
    auto params =
        sized<CUpti_Profiler_Host_ConfigAddMetrics_Params>(CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
    params.pHostObject = object_;
    params.ppMetricNames = const_cast<const char**>(metrics.data());
    params.numMetrics = metrics.size();
    return api_.cuptiProfilerHostConfigAddMetrics(&params) == CUPTI_SUCCESS;
  }

  Result<std::vector<std::uint8_t>> image() const {
    auto size =
        sized<CUpti_Profiler_Host_GetConfigImageSize_Params>(CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
    size.pHostObject = object_;
    if (const CUptiResult result = api_.cuptiProfilerHostGetConfigImageSize(&size); result != CUPTI_SUCCESS)
      return failed("cuptiProfilerHostGetConfigImageSize", result);
    std::vector<std::uint8_t> image(size.configImageSize);
    auto get = sized<CUpti_Profiler_Host_GetConfigImage_Params>(CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
    get.pHostObject = object_;
    get.configImageSize = image.size();
    get.pConfigImage = image.data();
    if (const CUptiResult result = api_.cuptiProfilerHostGetConfigImage(&get); result != CUPTI_SUCCESS)
      return failed("cuptiProfilerHostGetConfigImage", result);
    return image;
  }

  Result<std::size_t> passes(std::vector<std::uint8_t>& image) const {
    auto params =
        sized<CUpti_Profiler_Host_GetNumOfPasses_Params>(CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE);
    params.configImageSize = image.size();
    params.pConfigImage = image.data();
    if (const CUptiResult result = api_.cuptiProfilerHostGetNumOfPasses(&params); result != CUPTI_SUCCESS)
      return failed("cuptiProfilerHostGetNumOfPasses", result);
    return params.numOfPasses;
  }

  CUptiResult evaluate(std::span<const std::uint8_t> data, std::size_t index, std::span<const char* const> metrics,
                       double* values) const {
    auto params = sized<CUpti_Profiler_Host_EvaluateToGpuValues_Params>(
        CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
    params.pHostObject = object_;
    params.pCounterDataImage = data.data();
    params.counterDataImageSize = data.size();
    params.rangeIndex = index;
    params.ppMetricNames = const_cast<const char**>(metrics.data());
    params.numMetrics = metrics.size();
    params.pMetricValues = values;
    return api_.cuptiProfilerHostEvaluateToGpuValues(&params);
  }

  /// Of these metrics alone; 0: the chip does not have one of them.
  static std::size_t passes_of(const ProfilerApi& api, const std::string& chip, Collection collection,
                               std::span<const char* const> metrics) {
    Result<std::unique_ptr<Host>> host = open(api, chip, collection);
    if (!host || !(*host)->add(metrics)) return 0;
    Result<std::vector<std::uint8_t>> image = (*host)->image();
    if (!image) return 0;
    const Result<std::size_t> passes = (*host)->passes(*image);
    return passes ? *passes : 0;
  }

 private:
  Host(const ProfilerApi& api, CUpti_Profiler_Host_Object* object) : api_(api), object_(object) {}

  const ProfilerApi api_;
  CUpti_Profiler_Host_Object* object_;
};

namespace {

struct Wanted {
  std::string_view metric;
  bool by_name;  // and not only as a part of a set
};

bool is_library_metric(std::string_view name) noexcept { return name.find("__") != std::string_view::npos; }

const NamedSet* find_set(std::string_view name) noexcept {
  for (const NamedSet& set : named_sets()) {
    if (set.name == name) return &set;
  }
  return nullptr;
}

bool is_metric(std::string_view name) noexcept {
  return std::any_of(recipes().begin(), recipes().end(), [&](const Recipe& recipe) { return recipe.metric == name; });
}

Error unknown(std::string_view name) {
  std::vector<std::string_view> names;
  for (const NamedSet& set : named_sets()) names.push_back(set.name);
  for (const Recipe& recipe : recipes()) names.push_back(recipe.metric);
  std::string message = "no set of counters and no metric is called \"" + base::printable(name) + "\"";
  if (const std::string_view near = base::nearest(name, names); !near.empty()) {
    message += "; did you mean " + std::string(near) + "?";
  } else {
    message += "; sets are";
    for (const NamedSet& set : named_sets()) message.append(" ").append(set.name);
  }
  return Error(ErrorCode::kInvalidArgument, message);
}

Result<std::vector<Wanted>> wanted_of(const std::vector<std::string>& selection) {
  std::vector<Wanted> wanted;
  const auto want = [&](std::string_view metric, bool by_name) {
    const auto same = std::find_if(wanted.begin(), wanted.end(), [&](const Wanted& w) { return w.metric == metric; });
    if (same == wanted.end())
      wanted.push_back({metric, by_name});
    else
      same->by_name = same->by_name || by_name;
  };
  if (selection.empty()) return unknown({});
  for (const std::string& name : selection) {
    if (const NamedSet* set = find_set(name)) {
      for (const std::string_view metric : set->metrics) want(metric, false);
    } else if (is_metric(name) || is_library_metric(name)) {
      want(name, true);
    } else {
      return unknown(name);
    }
  }
  return wanted;
}

std::vector<const char*> pointers_to(std::span<const Term> terms, std::vector<std::string>& kept) {
  kept.clear();
  for (const Term& term : terms) kept.emplace_back(term.name);
  std::vector<const char*> pointers;
  for (const std::string& name : kept) pointers.push_back(name.c_str());
  return pointers;
}

std::string listed(const std::vector<std::string>& names) { return base::joined(names, ", "); }

}  // namespace

MetricSet::MetricSet() = default;
MetricSet::MetricSet(MetricSet&&) noexcept = default;
MetricSet& MetricSet::operator=(MetricSet&&) noexcept = default;
MetricSet::~MetricSet() = default;

Status MetricSet::check(const std::vector<std::string>& selection) {
  const Result<std::vector<Wanted>> wanted = wanted_of(selection);
  return wanted ? Status() : Status(wanted.error());
}

void MetricSet::add(std::string_view metric, std::span<const Term> terms) {
  const auto ours = static_cast<std::uint32_t>(metrics_.size());
  metrics_.emplace_back(metric);
  for (const Term& term : terms) {
    const auto known = std::find(library_.begin(), library_.end(), term.name);
    parts_.push_back({ours, static_cast<std::uint32_t>(known - library_.begin()), term.factor});
    if (known == library_.end()) library_.emplace_back(term.name);
  }
  pointers_.clear();
  for (const std::string& name : library_) pointers_.push_back(name.c_str());
}

Result<MetricSet> MetricSet::resolve(const ProfilerApi& api, std::string_view chip, Collection collection,
                                     const std::vector<std::string>& selection) {
  Result<std::vector<Wanted>> wanted = wanted_of(selection);
  if (!wanted) return std::move(wanted).error();
  MetricSet set;
  set.chip_ = chip;
  if (Result<std::unique_ptr<Host>> host = Host::open(api, set.chip_, collection); !host)
    return std::move(host).error();

  std::vector<std::string> too_many;  // would take another pass
  for (const Wanted& want : *wanted) {
    const Term own[] = {{want.metric}};
    const Recipe as_it_is{want.metric, true, true, own};
    std::span<const Recipe> candidates = recipes();
    if (is_library_metric(want.metric)) candidates = {&as_it_is, 1};
    bool added = false;
    bool known = false;
    for (const Recipe& recipe : candidates) {
      if (recipe.metric != want.metric || !(collection == Collection::kRanges ? recipe.for_ranges : recipe.for_samples))
        continue;
      std::vector<std::string> kept;
      const std::size_t alone = Host::passes_of(api, set.chip_, collection, pointers_to(recipe.terms, kept));
      known = known || alone != 0;
      if (alone != 1) continue;
      MetricSet with;
      with.library_ = set.library_;
      with.add(want.metric, recipe.terms);
      if (Host::passes_of(api, set.chip_, collection, with.pointers_) != 1) continue;
      set.add(want.metric, recipe.terms);
      added = true;
      break;
    }
    if (added) continue;
    if (known) {
      too_many.emplace_back(want.metric);
    } else if (!want.by_name) {
      set.missing_.emplace_back(want.metric);
    } else {
      return Error(ErrorCode::kUnsupported, base::printable(want.metric) + ": " + set.chip_ + " has no such counter " +
                                                (collection == Collection::kRanges ? "for ranges" : "for sampling"));
    }
  }
  if (!too_many.empty()) {
    return Error(ErrorCode::kUnsupported, "\"" + base::printable(base::joined(selection, "+")) +
                                              "\" takes more than one pass on " + set.chip_ +
                                              ", and a running program has one: leave out " + listed(too_many) +
                                              ", and record it in another run");
  }
  if (set.metrics_.empty()) {
    return Error(ErrorCode::kUnsupported, "\"" + base::printable(base::joined(selection, "+")) + "\": " + set.chip_ +
                                              " has none of " + listed(set.missing_) +
                                              (collection == Collection::kRanges ? " for ranges" : " for sampling"));
  }
  Result<std::unique_ptr<Host>> host = Host::open(api, set.chip_, collection);
  if (!host) return std::move(host).error();
  if (!(*host)->add(set.pointers_)) return failed("cuptiProfilerHostConfigAddMetrics", CUPTI_ERROR_INVALID_PARAMETER);
  Result<std::vector<std::uint8_t>> image = (*host)->image();
  if (!image) return std::move(image).error();
  set.config_image_ = std::move(*image);
  set.host_ = std::move(*host);
  return set;
}

std::string MetricSet::description() const {
  std::string text;
  for (std::uint32_t metric = 0; metric < metrics_.size(); ++metric) {
    text.append(text.empty() ? "" : "; ").append(metrics_[metric]).append(" =");
    bool first = true;
    for (const Part& part : parts_) {
      if (part.metric != metric) continue;
      text.append(first ? " " : " + ");
      if (part.factor == 2) text.append("2 * ");
      if (part.factor == 0.01) text.append("0.01 * ");
      text.append(library_[part.library]);
      first = false;
    }
  }
  return text;
}

Result<std::vector<double>> MetricSet::evaluate(std::span<const std::uint8_t> counter_data, std::size_t index) const {
  std::vector<double> library(library_.size());
  const CUptiResult result = host_->evaluate(counter_data, index, pointers_, library.data());
  if (result != CUPTI_SUCCESS) return failed("cuptiProfilerHostEvaluateToGpuValues", result);
  std::vector<double> values(metrics_.size());
  for (const Part& part : parts_) values[part.metric] += library[part.library] * part.factor;
  return values;
}

Result<std::vector<std::string>> known_chips(const ProfilerApi& api) {
  auto params =
      sized<CUpti_Profiler_Host_GetSupportedChips_Params>(CUpti_Profiler_Host_GetSupportedChips_Params_STRUCT_SIZE);
  if (const CUptiResult result = api.cuptiProfilerHostGetSupportedChips(&params); result != CUPTI_SUCCESS)
    return failed("cuptiProfilerHostGetSupportedChips", result);
  return std::vector<std::string>(params.ppChipNames, params.ppChipNames + params.numChips);
}

}  // namespace rangefinder::source::counters
