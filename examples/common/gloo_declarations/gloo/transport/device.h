// SPDX-License-Identifier: MIT
// What ProcessGroupGloo.hpp names of Gloo's transport: held by pointer alone.
#pragma once

namespace gloo::transport {

class Device;
class UnboundBuffer;

}  // namespace gloo::transport
