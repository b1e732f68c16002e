#include "analyzer/index/stream_names.h"

#include <algorithm>
#include <map>
#include <span>

#include "analyzer/index/tuple_file.h"

namespace iotune::analyzer {
namespace {

constexpr std::size_t kMostDigits = 18;  // of a number that fits

struct Token {
  std::string text;
  bool is_number;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::vector<Token> tokens_of(const std::string& name) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < name.size();) {
    std::size_t end = i;
    while (end < name.size() && is_digit(name[end]) == is_digit(name[i])) ++end;
    const bool is_number = is_digit(name[i]) && end - i <= kMostDigits;
    tokens.push_back({name.substr(i, end - i), is_number});
    i = end;
  }
  return tokens;
}

// Names of one form are equally long in tokens, and alike in which are numbers, which of these
// have leading zeros, and then how many digits.
std::string form_of(const std::vector<Token>& tokens) {
  std::string form;
  for (const Token& token : tokens) {
    const bool padded = token.is_number && token.text.size() > 1 && token.text[0] == '0';
    form += !token.is_number ? 't' : 'n';
    if (padded) form.back() = 'p';
  }
  return form;
}

std::string padded(std::int64_t number, std::size_t digits) {
  std::string text = std::to_string(number);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return text;
}

}  // namespace

class StreamNames::Builder {
 public:
  explicit Builder(StreamNames& to) : to_(to) {}

  void build(const std::vector<std::string>& names) {
    std::vector<std::vector<Token>> tokens;
    tokens.reserve(names.size());
    for (const std::string& name : names) tokens.push_back(tokens_of(name));
    std::map<std::string, std::vector<std::size_t>> by_form;
    for (std::size_t i = 0; i < names.size(); ++i) by_form[loose_form(tokens[i])].push_back(i);
    split_by_digits(by_form, tokens);
    std::vector<std::int64_t> form(names.size());
    std::vector<std::int64_t> row(names.size());
    std::vector<std::size_t> alone;
    for (const auto& [key, members] : by_form) {
      if (members.size() < 4 && by_form.size() > 1) {
        alone.insert(alone.end(), members.begin(), members.end());
        continue;
      }
      place(members, form, row);
      add_form(members, tokens);
    }
    if (!alone.empty()) {
      std::sort(alone.begin(), alone.end());
      for (const std::size_t i : alone) tokens[i] = {{names[i], false}};
      place(alone, form, row);
      add_form(alone, tokens);
    }
    to_.form_ = PackedArray(form);
    to_.row_ = PackedArray(row);
    to_.texts_.shrink_to_fit();
    to_.text_ends_ = PackedArray(ends_);
  }

 private:
  using Members = std::vector<std::size_t>;

  static std::string loose_form(const std::vector<Token>& tokens) {
    std::string form = form_of(tokens);
    std::replace(form.begin(), form.end(), 'p', 'n');
    return form;
  }

  // A column with leading zeros somewhere keeps its form only where all have as many digits.
  static void split_by_digits(std::map<std::string, Members>& by_form,
                              const std::vector<std::vector<Token>>& tokens) {
    std::map<std::string, Members> split;
    for (auto& [key, members] : by_form) {
      const std::size_t columns = tokens[members[0]].size();
      std::vector<bool> by_digits(columns);
      for (std::size_t c = 0; c < columns; ++c) {
        for (const std::size_t i : members) {
          by_digits[c] = by_digits[c] || form_of({tokens[i][c]}) == "p";
        }
      }
      for (const std::size_t i : members) {
        std::string exact = key;
        for (std::size_t c = 0; c < columns; ++c) {
          if (by_digits[c]) exact += ' ' + std::to_string(tokens[i][c].text.size());
        }
        split[exact].push_back(i);
      }
    }
    by_form = std::move(split);
  }

  void place(const Members& members, std::vector<std::int64_t>& form,
             std::vector<std::int64_t>& row) const {
    for (std::size_t k = 0; k < members.size(); ++k) {
      form[members[k]] = static_cast<std::int64_t>(to_.forms_.size());
      row[members[k]] = static_cast<std::int64_t>(k);
    }
  }

  void add_form(const Members& members, const std::vector<std::vector<Token>>& tokens) {
    Form form;
    form.rows = members.size();
    const std::size_t columns = tokens[members[0]].size();
    form.columns.reserve(columns);
    std::vector<std::int64_t> values(members.size());
    for (std::size_t c = 0; c < columns; ++c) {
      Column column{{}, !tokens[members[0]][c].is_number, 0};
      for (std::size_t k = 0; k < members.size(); ++k) {
        const std::string& text = tokens[members[k]][c].text;
        values[k] = column.is_text ? text_index(text) : std::stoll(text);
        if (!column.is_text && text.size() > 1 && text[0] == '0') {
          column.digits = static_cast<std::uint8_t>(text.size());
        }
      }
      column.values = PackedArray(values);
      form.columns.push_back(std::move(column));
    }
    to_.forms_.push_back(std::move(form));
  }

  std::int64_t text_index(const std::string& text) {
    const auto [at, is_new] = known_.try_emplace(text, static_cast<std::int64_t>(ends_.size()));
    if (is_new) {
      to_.texts_ += text;
      ends_.push_back(static_cast<std::int64_t>(to_.texts_.size()));
    }
    return at->second;
  }

  StreamNames& to_;
  std::map<std::string, std::int64_t> known_;
  std::vector<std::int64_t> ends_;
};

StreamNames::StreamNames(const std::vector<std::string>& names) {
  const auto is_empty = [](const std::string& name) { return name.empty(); };
  if (!std::all_of(names.begin(), names.end(), is_empty)) Builder(*this).build(names);
}

std::string StreamNames::text(std::size_t i) const {
  const auto begin = static_cast<std::size_t>(i == 0 ? 0 : text_ends_[i - 1]);
  return texts_.substr(begin, static_cast<std::size_t>(text_ends_[i]) - begin);
}

std::string StreamNames::operator[](std::size_t i) const {
  std::string name;
  const auto row = static_cast<std::size_t>(row_[i]);
  for (const Column& column : forms_[static_cast<std::size_t>(form_[i])].columns) {
    const std::int64_t value = column.values[row];
    name += column.is_text ? text(static_cast<std::size_t>(value)) : padded(value, column.digits);
  }
  return name;
}

std::size_t StreamNames::memory_bytes() const noexcept {
  std::size_t bytes = form_.memory_bytes() + row_.memory_bytes() + text_ends_.memory_bytes() +
                      texts_.capacity() + forms_.capacity() * sizeof(Form);
  for (const Form& form : forms_) {
    bytes += form.columns.capacity() * sizeof(Column);
    for (const Column& column : form.columns) bytes += column.values.memory_bytes();
  }
  return bytes;
}

void StreamNames::write(std::vector<std::byte>& to) const {
  append_varint(to, forms_.size());
  for (const Form& form : forms_) {
    append_varint(to, form.columns.size());
    append_varint(to, form.rows);
    for (const Column& column : form.columns) {
      append_varint(to, column.is_text ? 0U : 1U + column.digits);
      append_tuples(to, column.values.unpacked(), 1);
    }
  }
  append_tuples(to, form_.unpacked(), 1);
  append_tuples(to, row_.unpacked(), 1);
  append_tuples(to, text_ends_.unpacked(), 1);
  append_varint(to, texts_.size());
  const auto* bytes = reinterpret_cast<const std::byte*>(texts_.data());
  to.insert(to.end(), bytes, bytes + texts_.size());
}

bool StreamNames::read(patterns::ByteReader& in, std::size_t most_bytes, StreamNames& to) {
  const std::size_t most_rows = most_bytes / sizeof(std::int64_t);
  std::vector<std::int64_t> values;
  std::size_t bytes = 0;
  const auto array = [&](PackedArray& packed) {
    if (!read_tuples(in, 1, most_rows, values)) return false;
    packed = PackedArray(values);
    bytes += packed.memory_bytes();
    return bytes <= most_bytes;
  };
  const std::uint64_t forms = in.varint();
  if (forms > in.bytes_left()) return false;
  for (std::uint64_t f = 0; f < forms; ++f) {
    Form form;
    const std::uint64_t columns = in.varint();
    form.rows = in.varint();
    if (in.failed() || columns > in.bytes_left()) return false;
    for (std::uint64_t c = 0; c < columns; ++c) {
      const std::uint64_t kind = in.varint();
      if (kind > 1 + kMostDigits) return false;
      form.columns.push_back({{}, kind == 0, static_cast<std::uint8_t>(kind == 0 ? 0 : kind - 1)});
      if (!array(form.columns.back().values)) return false;
    }
    to.forms_.push_back(std::move(form));
  }
  if (!array(to.form_) || !array(to.row_) || !array(to.text_ends_)) return false;
  const auto text = in.take(in.varint());
  to.texts_.assign(reinterpret_cast<const char*>(text.data()), text.size());
  if (in.failed() || !to.valid()) return false;
  std::size_t name_bytes = 0;
  for (std::size_t i = 0; i < to.size() && name_bytes <= most_bytes; ++i)
    name_bytes += to[i].size();
  return name_bytes <= most_bytes;
}

// Every index that operator[] will follow.
bool StreamNames::valid() const {
  std::int64_t end = 0;
  for (std::size_t i = 0; i < text_ends_.size(); ++i) {
    if (text_ends_[i] < end || text_ends_[i] > static_cast<std::int64_t>(texts_.size()))
      return false;
    end = text_ends_[i];
  }
  const auto below = [](std::int64_t i, std::size_t limit) {
    return i >= 0 && static_cast<std::uint64_t>(i) < limit;
  };
  for (const Form& form : forms_) {
    for (const Column& column : form.columns) {
      if (column.values.size() != form.rows) return false;
      for (std::size_t i = 0; i < form.rows; ++i) {
        const std::int64_t value = column.values[i];
        if (column.is_text ? !below(value, text_ends_.size()) : value < 0) return false;
      }
    }
  }
  if (form_.size() != row_.size()) return false;
  for (std::size_t i = 0; i < form_.size(); ++i) {
    if (!below(form_[i], forms_.size())) return false;
    if (!below(row_[i], forms_[static_cast<std::size_t>(form_[i])].rows)) return false;
  }
  return true;
}

}  // namespace iotune::analyzer
