// The state of a half-done analysis as bytes, and back: a class that has such state names its
// members once, for both directions, in `template <class A> void archive(A& archive)`.
//
// Bytes are read only by the build that wrote them, on any machine of the same kind.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace iotune::analyzer {

// The bytes end too early, or say what cannot be.
struct DamagedArchive {};

template <typename T>
T empty_value() {
  if constexpr (std::is_default_constructible_v<T>) {
    return T{};
  } else {
    return T(0);  // of so many dimensions, which the archive replaces
  }
}

// What reader and writer have in common. `Self` has number(), text() and address().
template <class Self>
class Archive {
 public:
  template <typename... T>
  void operator()(T&... members) {
    (one(members), ...);
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }

  template <typename T>
  void one(T& value) {
    if constexpr (std::is_pointer_v<T>) {
      self().address(value);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      self().number(value);
    } else if constexpr (std::is_array_v<T>) {
      for (auto& element : value) one(element);
    } else {
      compound(value);
    }
  }

  template <typename T>
  void compound(T& value) {
    value.archive(self());
  }
  void compound(std::string& value) { self().text(value); }
  template <typename T, std::size_t n>
  void compound(std::array<T, n>& value) {
    for (T& element : value) one(element);
  }
  template <typename A, typename B>
  void compound(std::pair<A, B>& value) {
    one(value.first);
    one(value.second);
  }
  template <typename T>
  void compound(std::optional<T>& value) {
    bool present = value.has_value();
    one(present);
    if (!present) {
      value.reset();
      return;
    }
    if constexpr (Self::kReads) value.emplace(empty_value<T>());
    one(*value);
  }
  template <typename T>
  void compound(std::unique_ptr<T>& value) {
    bool present = value != nullptr;
    one(present);
    if constexpr (Self::kReads) value = present ? std::make_unique<T>() : nullptr;
    if (present) one(*value);
  }
  void compound(std::vector<bool>&) = delete;
  template <typename T>
  void compound(std::vector<T>& value) {
    sequence(value);
  }
  template <typename T>
  void compound(std::list<T>& value) {
    sequence(value);
  }
  template <typename... T>
  void compound(std::set<T...>& value) {
    keys(value);
  }
  template <typename... T>
  void compound(std::unordered_set<T...>& value) {
    keys(value);
  }
  template <typename... T>
  void compound(std::map<T...>& value) {
    table(value);
  }
  template <typename... T>
  void compound(std::unordered_map<T...>& value) {
    table(value);
  }

  template <typename T>
  void sequence(T& values) {
    std::uint64_t count = values.size();
    self().count(count);
    if constexpr (Self::kReads) {
      values.clear();
      for (; count > 0; --count) one(values.emplace_back(empty_value<typename T::value_type>()));
    } else {
      for (auto& value : values) one(value);
    }
  }
  template <typename T>
  void keys(T& values) {
    std::uint64_t count = values.size();
    self().count(count);
    if constexpr (Self::kReads) {
      values.clear();
      for (; count > 0; --count) {
        typename T::value_type key{};
        one(key);
        values.insert(std::move(key));
      }
    } else {
      for (const auto& value : values) {
        auto key = value;
        one(key);
      }
    }
  }
  template <typename T>
  void table(T& values) {
    std::uint64_t count = values.size();
    self().count(count);
    if constexpr (Self::kReads) {
      values.clear();
      for (; count > 0; --count) {
        typename T::key_type key{};
        one(key);
        one(values.emplace(std::move(key), empty_value<typename T::mapped_type>()).first->second);
      }
    } else {
      for (auto& [known, value] : values) {
        auto key = known;
        one(key);
        one(value);
      }
    }
  }
};

class ArchiveWriter : public Archive<ArchiveWriter> {
 public:
  static constexpr bool kReads = false;

  // A pointer to `object` is kept as its number: both sides name the same objects in the same
  // order, before any pointer to them.
  void name(const void* object) { numbers_.emplace(object, numbers_.size() + 1); }
  const std::string& bytes() const { return bytes_; }

  void number(double value) {
    static_assert(sizeof value == 8);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <typename T>
  void number(T value) {
    const auto signed_value = static_cast<std::int64_t>(value);
    varint(std::is_signed_v<T> ? static_cast<std::uint64_t>(signed_value) << 1U ^
                                     static_cast<std::uint64_t>(signed_value >> 63U)
                               : static_cast<std::uint64_t>(value));
  }
  void count(std::uint64_t value) { varint(value); }
  void text(const std::string& value) {
    varint(value.size());
    bytes_ += value;
  }
  template <typename T>
  void address(T* object) {
    const auto found = numbers_.find(object);
    varint(found == numbers_.end() ? 0 : found->second);
  }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
  std::unordered_map<const void*, std::uint64_t> numbers_;
};

// Throws DamagedArchive. Memory grows with the bytes, whatever they are.
class ArchiveReader : public Archive<ArchiveReader> {
 public:
  static constexpr bool kReads = true;
  explicit ArchiveReader(std::string_view bytes) : left_(bytes) {}

  void name(void* object) { objects_.push_back(object); }
  bool at_end() const { return left_.empty(); }

  void number(double& value) { take(sizeof value).copy(reinterpret_cast<char*>(&value), 8); }
  template <typename T>
  void number(T& value) {
    const std::uint64_t read = varint();
    const std::uint64_t plain = std::is_signed_v<T> ? read >> 1U ^ (~(read & 1U) + 1U) : read;
    value = static_cast<T>(plain);
  }
  void count(std::uint64_t& value) {
    value = varint();
    if (value > left_.size()) throw DamagedArchive{};
  }
  void text(std::string& value) { value = take(varint()); }
  template <typename T>
  void address(T*& object) {
    const std::uint64_t number = varint();
    if (number > objects_.size()) throw DamagedArchive{};
    object = number == 0 ? nullptr : static_cast<T*>(objects_[number - 1]);
  }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > left_.size()) throw DamagedArchive{};
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80) return value;
    }
    throw DamagedArchive{};
  }

  std::string_view left_;
  std::vector<void*> objects_;
};

}  // namespace iotune::analyzer
