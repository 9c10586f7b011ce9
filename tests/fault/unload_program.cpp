// SPDX-License-Identifier: MIT
//
// Loads the library at run time, records, and closes it in the middle, as a plug-in does: unload_program LIBRARY
// OUTPUT.
#include <rangefinder/c/rangefinder.h>

#include <dlfcn.h>

#include <thread>

namespace {

/// The library's function of that name and type; the type is all that the header gives, since nothing links.
template <typename Function>
Function* function_of(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  void* const library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 3;
  auto* const init = function_of<decltype(rf_session_options_init)>(library, "rf_session_options_init");
  auto* const start = function_of<decltype(rf_session_start)>(library, "rf_session_start");
  auto* const push = function_of<decltype(rf_range_push_text)>(library, "rf_range_push_text");
  auto* const pop = function_of<decltype(rf_range_pop)>(library, "rf_range_pop");
  if (init == nullptr || start == nullptr || push == nullptr || pop == nullptr) return 4;

  rf_session_options options;
  if (init(&options, sizeof options) != RF_STATUS_OK) return 5;
  options.output = argv[2];
  options.cuda = false;
  rf_session* session = nullptr;
  if (start(&options, &session) != RF_STATUS_OK) return 6;
  const auto work = [&] {
    for (int i = 0; i < 50; ++i) {
      push("work");
      pop();
    }
  };
  std::thread(work).join();
  push("open");
  if (::dlclose(library) != 0) return 7;
  // The recorder's threads run on, a thread that ends hands in what it holds, and exit stops the session.
  std::thread(work).join();
  return 0;
}
