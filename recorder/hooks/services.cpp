#include <dlfcn.h>

#include <cerrno>
#include <cstring>

#include "core/link/at_start.h"
#include "core/link/loader_calls.h"
#include "core/link/real_function.h"
#include "core/os/short_text.h"
#include "core/process/configuration.h"
#include "core/process/thread_state.h"
#include "recorder/hooks/service.h"

namespace iotune::recorder {
namespace {

using Give = Service* (*)();

// RTLD_LOCAL: it has nothing for the program.
Give load(ShortText<4096>& path, const char* name) noexcept {
  const char* const own = own_library_path();
  const char* const slash = std::strrchr(own, '/');
  if (slash != nullptr) path.add(own, static_cast<std::size_t>(slash - own + 1));
  path << name;
  void* const handle =
      slash == nullptr || path.cut() ? nullptr : loader_open(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  return handle == nullptr ? nullptr
                           : reinterpret_cast<Give>(loader_symbol(handle, "iotune_service"));
}

}  // namespace

IOTUNE_START_DATA constinit Service* g_services = nullptr;

void enlist(Service& service) noexcept {
  Service** last = &g_services;
  while (*last != nullptr) last = &(*last)->next;
  *last = &service;
  if (service.after != nullptr && g_recording == kRecorded) g_recording = kWatched;
}

bool load_service(const ServiceLibrary& library, void* host) noexcept {
  const OwnCode own;
  const int kept = errno;
  ShortText<4096> path;
  const Give give = library.linked != nullptr ? library.linked : load(path, library.name);
  Service* const service = give == nullptr ? nullptr : give();
  if (service == nullptr || service->version != kServiceVersion) {
    ShortText<4608> text;
    text << path.c_str()
         << (service == nullptr ? " cannot be loaded: "
                                : " and libiotune.so are of different versions: ")
         << library.otherwise;
    say(text.c_str());
    return false;
  }
  const bool begun = service->begin(host);
  if (begun) enlist(*service);
  errno = kept;
  return begun;
}

}  // namespace iotune::recorder
