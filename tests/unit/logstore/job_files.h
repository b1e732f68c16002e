// A container on disk that several sessions of writers fill, and what a plain file would hold.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "fake_files.h"
#include "logstore/read/container.h"
#include "logstore/read/make_container.h"

namespace iotune::logstore::testing {

class JobFiles {
 public:
  static constexpr std::size_t kSpan = 3000;  // bytes of the file that are written to

  JobFiles() {
    std::string made = (std::filesystem::temp_directory_path() / "compact.XXXXXX").string();
    root_ = mkdtemp(made.data());
    path_ = root_ / "file.h5";
    EXPECT_FALSE(make_container(path_, {kId, 1000}));
  }
  ~JobFiles() { std::filesystem::remove_all(root_); }
  JobFiles(const JobFiles&) = delete;
  JobFiles& operator=(const JobFiles&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& root() const { return root_; }
  FakeClock& clock() { return clock_; }

  void put(const std::string& name, std::span<const std::byte> bytes) const {
    std::ofstream file(path_ / name, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  std::string get(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const FakeWriter& writer) const {
    put(writer.name + ".log", writer.log.bytes);
    put(writer.name + ".index", writer.index.bytes);
  }

  // A writer that has not written yet.
  std::unique_ptr<FakeWriter> open() {
    return std::make_unique<FakeWriter>("node1.77." + std::to_string(opened_++), clock_,
                                        LogWriterSizes{.terms = 24, .knots = 20});
  }
  void write(FakeWriter& writer, std::size_t offset, const std::string& text) {
    ASSERT_EQ(writer.writer.append(static_cast<std::int64_t>(offset), text.data(), text.size()),
              static_cast<std::int64_t>(text.size()));
    if (content_.size() < offset + text.size()) content_.resize(offset + text.size());
    content_.replace(offset, text.size(), text);
  }
  void truncate(FakeWriter& writer, std::size_t size) {
    ASSERT_EQ(writer.writer.truncate(static_cast<std::int64_t>(size)), 0);
    content_.resize(size);
  }
  void punch(FakeWriter& writer, std::size_t offset, std::size_t length) {
    ASSERT_EQ(
        writer.writer.punch(static_cast<std::int64_t>(offset), static_cast<std::int64_t>(length)),
        0);
    for (std::size_t i = offset; i < std::min(offset + length, content_.size()); ++i) {
      content_[i] = '\0';
    }
  }

  // So many writers, in turns, and closed.
  void session(std::mt19937_64& draw, std::size_t steps) {
    const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(draw() % limit); };
    std::vector<std::unique_ptr<FakeWriter>> writers;
    for (std::size_t i = 0, count = 1 + below(4); i < count; ++i) writers.push_back(open());
    for (std::size_t i = 0; i < steps; ++i) {
      FakeWriter& writer = *writers[below(writers.size())];
      switch (below(12)) {
        case 0:
          truncate(writer, below(kSpan));
          break;
        case 1:
          punch(writer, below(kSpan), 1 + below(300));
          break;
        case 2:
          ASSERT_EQ(writer.writer.sync(), 0);
          break;
        case 3:
        case 4:
        case 5: {  // a loop
          const std::size_t stride = 1 + below(60);
          const std::size_t length = 1 + below(40);
          const std::size_t start = below(500);
          for (std::size_t k = 0; k < 30; ++k) {
            write(writer, start + k * stride, text(length));
          }
          break;
        }
        default:
          write(writer, below(kSpan - 200), text(1 + below(200)));
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
    for (const auto& one : writers) {
      ASSERT_EQ(below(2) == 0 ? one->writer.sync() : one->writer.close(), 0);
      put(*one);
    }
  }

  // What the container holds, or why it cannot be read.
  std::string found(std::vector<WriterReport>* reports = nullptr) const {
    const auto container = Container::open(path_);
    if (!container) return container.error().text();
    if (reports != nullptr) *reports = container->reports();
    std::string all(std::max(2 * kSpan, content_.size() + 1), '?');
    const auto size = container->read(0, std::as_writable_bytes(std::span(all)));
    if (!size) return size.error().text();
    all.resize(*size);
    return all;
  }
  const std::string& content() const { return content_; }

  void expect_whole(const std::string& when) const {
    std::vector<WriterReport> reports;
    const std::string now = found(&reports);
    EXPECT_TRUE(now == content_) << when << ": " << now.substr(0, 200);
    for (const WriterReport& report : reports) {
      EXPECT_TRUE(report.is_whole()) << when << ": " << report.name;
    }
    const auto container = Container::open(path_);
    ASSERT_TRUE(container);
    EXPECT_TRUE(container->strangers().empty()) << when;
  }

  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      all.insert(entry.path().filename().string());
    }
    return all;
  }
  std::size_t bytes_of(const std::string& ending) const {
    std::size_t bytes = 0;
    for (const std::string& name : names()) {
      if (name.ends_with(ending)) bytes += std::filesystem::file_size(path_ / name);
    }
    return bytes;
  }

 private:
  std::string text(std::size_t length) {
    std::string some(length, '\0');
    for (char& c : some) c = static_cast<char>(1 + number_++ % 250);
    return some;
  }

  std::filesystem::path root_, path_;
  FakeClock clock_;
  std::string content_;
  std::size_t opened_ = 0;
  std::size_t number_ = 0;
};

}  // namespace iotune::logstore::testing
