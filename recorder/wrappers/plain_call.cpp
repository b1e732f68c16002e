#include "recorder/wrappers/plain_call.h"

#include <cstring>

#include "recorder/call_table.h"
#include "recorder/wrappers/hdf5/known_selections.h"

namespace iotune::recorder {
namespace {

template <typename T>
T* pointer(std::int64_t word) noexcept {
  return reinterpret_cast<T*>(word);
}

template <typename T>
std::int64_t filled(std::int64_t word, bool failed) noexcept {
  return failed || word == 0 ? -1 : static_cast<std::int64_t>(*pointer<const T>(word));
}

}  // namespace

constinit CallerSymbol g_plain_symbols[kCallCount];

[[gnu::hot]] PlainFrame::PlainFrame(Layer layer, PlainCall call, const void* caller) noexcept
    : scope_(layer), call_(call) {
  CallerSymbol& symbol = plain_symbol(call.number);
  RealFunction found = symbol.find_newest(caller);
  const bool passed = g_records_to_learn && !call.learnt_from;
  if (found.function == nullptr) {
    // call_name ends every name with a NUL.
    const char* const name = call_name(static_cast<std::size_t>(call.number)).data();
    found = symbol.find_by_library(name, caller);
    if (found.function == nullptr) say_missing(name);
    if (passed && call.left && found.looked_up) leave_to_caller(name, caller, found);
  }
  function_ = found.function;
  if (function_ != nullptr && !passed && !goes_straight_through(scope_, found)) {
    provider_ = found.provider;
    if (call.calls_back) scope_.expect_callbacks();
    scope_.start();
  }
}

// After a failed call nothing is asked (the error stack is the program's), nor is anything read
// that the failure may have been about.
[[gnu::hot]] void PlainFrame::record(const std::int64_t* words, const WordForm* forms,
                                     std::size_t arguments, bool failed) noexcept {
  scope_.stop();
  if (!scope_.recorded()) return;
  RecordWriter record(scope_, call_.number, call_.times);
  // Of a dataspace that several arguments are as long as.
  std::int64_t space = -1, space_length = -1;
  for (std::size_t i = 0; i < arguments; ++i) {
    const std::int64_t word = words[i];
    const std::int64_t owner = words[forms[i].of];
    switch (forms[i].form) {
      case Form::kNumber:
        record.number(word);
        break;
      case Form::kText:
        record.text(pointer<const char>(word));
        break;
      case Form::kUnrecorded:
        break;
      case Form::kSize:
        record.number(filled<std::size_t>(word, failed));
        break;
      case Form::kUnsigned:
        record.number(filled<unsigned>(word, failed));
        break;
      case Form::kBool:
        record.number(filled<bool>(word, failed));
        break;
      case Form::kWords:
        record.array(pointer<const std::uint64_t>(word), failed ? -1 : owner);
        break;
      case Form::kUnsigneds:
        record.array(pointer<const unsigned>(word), failed ? -1 : owner);
        break;
      case Form::kSpaceDims:
        if (!failed && word != 0 && owner != space) {
          space = owner;
          space_length = known_dimensions(*provider_, owner);
          if (space_length < 0) space_length = space_dimensions(*provider_, owner);
        }
        record.array(pointer<const std::uint64_t>(word), space_length);
        break;
      case Form::kDatasetDims:
        record.array(pointer<const std::uint64_t>(word),
                     failed ? -1 : dataset_dimensions(*provider_, owner));
        break;
    }
  }
  record.number(words[arguments]);
  record.commit();
}

RealFunction find_small_form(CallerSymbol (&symbols)[2], const char* name,
                             const void* caller) noexcept {
  CallerSymbol& symbol = symbols[name[0] == 'P' ? 1 : 0];
  const RealFunction newest = symbol.find_newest(caller);
  if (newest.function != nullptr) return newest;
  constexpr std::size_t kEnding = sizeof "_c" - 1;
  ShortText<64> small;
  small.add(name, std::strlen(name) - kEnding);
  return symbol.find_by_library(small.c_str(), caller);
}

void say_missing(const char* name) noexcept {
  static constinit bool said = false;
  ShortText<160> text;
  text << name << " is called, but no loaded library has it";
  say_once(said, text.c_str());
}

}  // namespace iotune::recorder
