// SPDX-License-Identifier: MIT
#pragma once

// Everything of the library that needs neither LibTorch nor a compiler newer than C++17. A file that only marks ranges
// compiles faster with <rangefinder/range.hpp>; operators and memory of LibTorch are in <rangefinder/torch/...>.

#include <rangefinder/analysis/advice.hpp>
#include <rangefinder/analysis/breakdown.hpp>
#include <rangefinder/analysis/collectives.hpp>
#include <rangefinder/analysis/critical_path.hpp>
#include <rangefinder/analysis/hang.hpp>
#include <rangefinder/analysis/key_averages.hpp>
#include <rangefinder/capture.hpp>
#include <rangefinder/compare.hpp>
#include <rangefinder/doctor.hpp>
#include <rangefinder/exporters.hpp>
#include <rangefinder/gate.hpp>
#include <rangefinder/health.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/query.hpp>
#include <rangefinder/range.hpp>
#include <rangefinder/report.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/session_options.hpp>
#include <rangefinder/timeline.hpp>
#include <rangefinder/types.hpp>
#include <rangefinder/version.hpp>
