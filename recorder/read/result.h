// A value or an error: no exception crosses a public function of this room.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace iotune::recorder {

struct Error {
  std::string path;  // the file it is about, or empty
  std::string message;
  std::string text() const { return path.empty() ? message : path + ": " + message; }
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  // Only of a Result that is true.
  T& operator*() { return *std::get_if<0>(&state_); }
  const T& operator*() const { return *std::get_if<0>(&state_); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  // Only of a Result that is false.
  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace iotune::recorder
