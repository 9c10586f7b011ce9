// SPDX-License-Identifier: MIT
#include "session/parts.hpp"

#if RANGEFINDER_HAS_NVTX
#include "source/nvtx/nvtx_emitter.hpp"
#endif

namespace rangefinder::session {

Parts make_parts(const SessionOptions& options) {
  Parts parts;
#if RANGEFINDER_HAS_NVTX
  if (options.nvtx) source::emit_nvtx_if_heard();
#endif
  return parts;
}

}  // namespace rangefinder::session
