// A wrapped call of which nothing is recorded but its arguments and its result. Hundreds of
// functions of HDF5 are of that kind and of a few dozen shapes: one instance of plain_call serves
// all of one shape, and what is left of a wrapper is a jump.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "recorder/ring/record_writer.h"
#include "recorder/wrappers/wrapper_parts.h"

namespace iotune::recorder {

// How an argument is passed and what of it is recorded: the kinds of calls.table.
template <typename T>
struct Number {
  using Type = T;
};
struct Text {
  using Type = const char*;
};
struct Unrecorded {
  using Type = void*;
};
// A place that the call fills.
template <typename T>
struct Filled {
  using Type = T*;
};
// As long as argument number kOf says.
template <typename T, unsigned kOf>
struct ArrayOf {
  using Type = const T*;
};
// As long as the dataspace, or the dataset, at argument number kOf has dimensions.
template <unsigned kOf>
struct SpaceArray {
  using Type = const std::uint64_t*;
};
template <unsigned kOf>
struct DatasetArray {
  using Type = const std::uint64_t*;
};

// Which call it is, in half a register: hundreds of wrappers load it.
struct PlainCall {
  CallNumber number;
  Times times;
  // `left`: to the caller itself, after its library's first call (leave_to_caller).
  bool calls_back : 1, learnt_from : 1, left : 1;
};
static_assert(sizeof(PlainCall) == 4);

// How a word of an argument is recorded; `of`: of an array the argument that says its length.
enum class Form : std::uint8_t {
  kNumber,
  kText,
  kUnrecorded,
  kSize,
  kUnsigned,
  kBool,
  kWords,
  kUnsigneds,
  kSpaceDims,
  kDatasetDims
};
struct WordForm {
  Form form;
  std::uint8_t of;
};
template <typename T>
constexpr WordForm form_of(Number<T>) noexcept {
  return {Form::kNumber, 0};
}
constexpr WordForm form_of(Text) noexcept {
  return {Form::kText, 0};
}
constexpr WordForm form_of(Unrecorded) noexcept {
  return {Form::kUnrecorded, 0};
}
constexpr WordForm form_of(Filled<std::size_t>) noexcept {
  return {Form::kSize, 0};
}
constexpr WordForm form_of(Filled<unsigned>) noexcept {
  return {Form::kUnsigned, 0};
}
constexpr WordForm form_of(Filled<bool>) noexcept {
  return {Form::kBool, 0};
}
template <typename T, unsigned kOf>
constexpr WordForm form_of(ArrayOf<T, kOf>) noexcept {
  return {sizeof(T) == 8 ? Form::kWords : Form::kUnsigneds, kOf};
}
template <unsigned kOf>
constexpr WordForm form_of(SpaceArray<kOf>) noexcept {
  return {Form::kSpaceDims, kOf};
}
template <unsigned kOf>
constexpr WordForm form_of(DatasetArray<kOf>) noexcept {
  return {Form::kDatasetDims, kOf};
}

template <typename T>
std::int64_t word_of(T value) noexcept {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<std::int64_t>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<std::int64_t>(value);
  } else {
    return static_cast<std::int64_t>(value);
  }
}

// word_of turned back.
template <typename T>
T typed_word(std::int64_t word) noexcept {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(word);
  } else {
    return static_cast<T>(word);
  }
}

// What is the same for all shapes, and so is not part of the template.
class PlainFrame {
 public:
  PlainFrame(Layer layer, PlainCall call, const void* caller) noexcept;
  void* function() const noexcept { return function_; }
  bool records() const noexcept { return provider_ != nullptr; }
  // `words`: the arguments, and the result last.
  void record(const std::int64_t* words, const WordForm* forms, std::size_t arguments,
              bool failed) noexcept;

 private:
  CallScope scope_;
  PlainCall call_;
  void* function_ = nullptr;
  Provider* provider_ = nullptr;  // nullptr: the call goes straight through
};

// One cache for each call of the table: zero at start, and not touched before the first call.
extern CallerSymbol g_plain_symbols[kCallCount];
inline CallerSymbol& plain_symbol(CallNumber number) noexcept {
  return g_plain_symbols[static_cast<std::size_t>(number)];
}

template <Layer layer, typename Result, typename... Kinds>
[[gnu::noinline, gnu::hot]] Result plain_call(typename Kinds::Type... arguments, PlainCall call,
                                              const void* caller) noexcept {
  if (is_outside_sample() && !call.calls_back) {
    if (void* const passed = plain_symbol(call.number).newest_function(caller)) {
      const PassedCall inside;
      return reinterpret_cast<Result (*)(typename Kinds::Type...)>(passed)(arguments...);
    }
  }
  PlainFrame frame(layer, call, caller);
  auto* const real = reinterpret_cast<Result (*)(typename Kinds::Type...)>(frame.function());
  if (real == nullptr) return static_cast<Result>(std::is_signed_v<Result> ? -1 : 0);
  const Result result = real(arguments...);
  if (frame.records()) {
    static constexpr WordForm kForms[] = {form_of(Kinds{})..., {Form::kNumber, 0}};
    const std::int64_t words[] = {word_of(arguments)..., word_of(result)};
    frame.record(words, kForms, sizeof...(Kinds),
                 std::is_signed_v<Result> && words[sizeof...(Kinds)] < 0);
  }
  return result;
}

}  // namespace iotune::recorder
