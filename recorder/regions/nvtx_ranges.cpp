// Ranges that a program marks by NVTX 3. Its functions are inline in the program and do nothing
// until an injection library, named by NVTX_INJECTION64_PATH, hands them functions of its own:
// libiotune.so is one, and names itself (environment_calls.cpp). The interface is the one of NVTX's
// public headers (nvtx3/nvtxDetail/nvtxTypes.h); what of it is not recorded here stays a function
// that does nothing: marks, and ranges that begin and end anywhere (nvtxRangeStart), which do not
// nest.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/link/loader_calls.h"
#include "core/os/private_memory.h"
#include "core/process/thread_state.h"
#include "recorder/regions/regions.h"
#include "recorder/wrappers/wrapper_parts.h"

namespace {

using iotune::recorder::begin_region;
using iotune::recorder::end_region;
using iotune::recorder::kNoRegionValue;

// nvtxEventAttributes_t, version 2.
struct EventAttributes {
  std::uint16_t version, size;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type, reserved;
  std::uint64_t payload;
  std::int32_t message_type;
  const void* message;
};
static_assert(offsetof(EventAttributes, payload) == 24 && sizeof(EventAttributes) == 48);

enum PayloadType : std::int32_t { kUnsigned64 = 1, kSigned64 = 2, kUnsigned32 = 4, kSigned32 = 5 };
enum MessageType : std::int32_t { kAscii = 1, kUnicode = 2, kRegistered = 3 };

// A text of the program's that NVTX knows by a handle for ever. What there is no room for has no
// handle, and its ranges no name.
class Texts {
 public:
  const char* keep(const char* text) noexcept {
    if (text == nullptr) return nullptr;
    std::size_t bytes = 1;
    while (bytes < kLongest && text[bytes - 1] != '\0') ++bytes;
    std::byte* memory = memory_.load(std::memory_order_acquire);
    if (memory == nullptr) {
      auto* const made = static_cast<std::byte*>(iotune::private_memory(kBytes));
      if (made == nullptr) return nullptr;
      if (memory_.compare_exchange_strong(memory, made, std::memory_order_acq_rel)) {
        memory = made;
      } else {
        iotune::unmap(made, kBytes);
      }
    }
    const std::size_t at = used_.fetch_add(bytes, std::memory_order_relaxed);
    if (at + bytes > kBytes) return nullptr;
    auto* const kept = reinterpret_cast<char*>(memory + at);
    std::memcpy(kept, text, bytes - 1);  // zeros follow
    return kept;
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{1} << 20, kLongest = 1024;
  std::atomic<std::byte*> memory_{nullptr};
  std::atomic<std::size_t> used_{0};
};
constinit Texts g_texts;

// The default domain is its own owner.
constexpr char kDefaultDomain = 0;
const void* owner_of(const void* domain) noexcept {
  return domain == nullptr ? &kDefaultDomain : domain;
}

// Wide characters, as far as they are ASCII.
class AsciiName {
 public:
  explicit AsciiName(const wchar_t* text) noexcept {
    std::size_t i = 0;
    for (; text != nullptr && text[i] != L'\0' && i + 1 < sizeof text_; ++i) {
      text_[i] = text[i] < 0x80 ? static_cast<char>(text[i]) : '?';
    }
    text_[i] = '\0';
  }
  const char* c_str() const noexcept { return text_; }

 private:
  char text_[256];
};

std::int64_t value_of(const EventAttributes& event) noexcept {
  switch (event.payload_type) {
    case kUnsigned64:
    case kSigned64:
      return static_cast<std::int64_t>(event.payload);
    case kUnsigned32:
      return static_cast<std::uint32_t>(event.payload);
    case kSigned32:
      return static_cast<std::int32_t>(event.payload);
    default:
      return kNoRegionValue;
  }
}

// What the functions return is the depth of the range, counted from 0, which no program needs.
int push(const void* domain, const EventAttributes* event) noexcept {
  const void* const owner = owner_of(domain);
  if (event == nullptr || event->size < sizeof(EventAttributes)) {
    return begin_region(owner, "", kNoRegionValue) == 0 ? 0 : -1;
  }
  const std::int64_t value = value_of(*event);
  if (event->message_type == kUnicode) {
    const AsciiName name(static_cast<const wchar_t*>(event->message));
    return begin_region(owner, name.c_str(), value) == 0 ? 0 : -1;
  }
  const bool named = event->message_type == kAscii || event->message_type == kRegistered;
  const char* const name = named ? static_cast<const char*>(event->message) : nullptr;
  return begin_region(owner, name, value) == 0 ? 0 : -1;
}

int push_default(const EventAttributes* event) noexcept {
  return push(nullptr, event);
}
int push_text(const char* name) noexcept {
  return begin_region(&kDefaultDomain, name, kNoRegionValue) == 0 ? 0 : -1;
}
int push_wide(const wchar_t* text) noexcept {
  return push_text(AsciiName(text).c_str());
}
int pop(const void* domain) noexcept {
  return end_region(owner_of(domain), nullptr) == 0 ? 0 : -1;
}
int pop_default() noexcept {
  return pop(nullptr);
}
const void* keep_text(const void* /*domain*/, const char* text) noexcept {
  return g_texts.keep(text);
}
const void* keep_wide(const void* /*domain*/, const wchar_t* text) noexcept {
  return g_texts.keep(AsciiName(text).c_str());
}
const void* make_domain(const char* name) noexcept {
  return g_texts.keep(name);
}
const void* make_wide_domain(const wchar_t* name) noexcept {
  return g_texts.keep(AsciiName(name).c_str());
}

// NvtxExportTableCallbacks: the program's tables of functions, by module.
using Function = void (*)();
struct Callbacks {
  std::size_t size;
  int (*table)(int module, Function*** table, unsigned* size);
};
constexpr std::uint32_t kCallbacks = 1;
constexpr int kCore = 1, kDomains = 5;

struct Slot {
  int module;
  unsigned number;  // NvtxCallbackIdCore, NvtxCallbackIdCore2
  Function function;
};

template <typename F>
Slot slot(int module, unsigned number, F* function) noexcept {
  return {module, number, reinterpret_cast<Function>(function)};
}

}  // namespace

extern "C" int iotune_region_enter(const char* name, long long value) noexcept;

// Called by NVTX in each object that has its functions, at their first use there. What is not given
// to it does nothing from then on. Never 0, after which NVTX would unload this library; where it
// was not preloaded there is nothing to record into.
extern "C" IOTUNE_EXPORT int InitializeInjectionNvtx2(
    const void* (*export_table)(std::uint32_t)) noexcept {
  const auto own = reinterpret_cast<const void*>(&iotune_region_enter);
  if (iotune::g_recording == iotune::kNothing ||
      iotune::loader_symbol(RTLD_DEFAULT, "iotune_region_enter") != own) {
    return 1;
  }
  const auto* const callbacks = static_cast<const Callbacks*>(export_table(kCallbacks));
  if (callbacks == nullptr || callbacks->size < sizeof(Callbacks)) return 1;
  const Slot slots[] = {slot(kCore, 8, push_default),    slot(kCore, 9, push_text),
                        slot(kCore, 10, push_wide),      slot(kCore, 11, pop_default),
                        slot(kDomains, 4, push),         slot(kDomains, 5, pop),
                        slot(kDomains, 10, keep_text),   slot(kDomains, 11, keep_wide),
                        slot(kDomains, 12, make_domain), slot(kDomains, 13, make_wide_domain)};
  for (const Slot& one : slots) {
    Function** table = nullptr;
    unsigned size = 0;
    if (callbacks->table(one.module, &table, &size) == 0 || table == nullptr) continue;
    if (one.number < size && table[one.number] != nullptr) *table[one.number] = one.function;
  }
  return 1;
}
