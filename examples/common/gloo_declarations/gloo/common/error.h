// SPDX-License-Identifier: MIT
// ProcessGroupGloo.hpp includes it and names nothing of it.
#pragma once
