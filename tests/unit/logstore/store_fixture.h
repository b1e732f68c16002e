// A directory for containers of a test, and processes of their own that do what they are asked.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "logstore/read/container.h"
#include "logstore/store/logged_file.h"

namespace iotune::logstore::testing {

namespace fs = std::filesystem;

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    std::string made = (fs::temp_directory_path() / "store.XXXXXX").string();
    root_ = mkdtemp(made.data());
    path_ = (root_ / "file.h5").string();
    EXPECT_EQ(LoggedFile::make(path_, 0644), 0);
    said().clear();
  }
  ~StoreTest() override {
    LoggedFile::close_idle();
    fs::remove_all(root_);
  }

  static std::vector<std::string>& said() {
    static std::vector<std::string> lines;
    return lines;
  }
  static StoreOptions options() {
    StoreOptions chosen;
    chosen.say = [](const char* text) { said().emplace_back(text); };
    return chosen;
  }
  std::shared_ptr<LoggedFile> open() const { return open(path_); }
  static std::shared_ptr<LoggedFile> open(const std::string& path) {
    std::shared_ptr<LoggedFile> file;
    EXPECT_EQ(LoggedFile::open(path, options(), file), 0);
    return file;
  }
  static std::int64_t put(LoggedFile& file, std::int64_t offset, const std::string& text) {
    return file.write(offset, text.data(), text.size());
  }
  // Zeros as dots.
  static std::string text(LoggedFile& file, std::int64_t offset = 0, std::size_t size = 200) {
    std::string all(size, '?');
    const std::int64_t read = file.read(offset, all.data(), size);
    if (read < 0) return "error " + std::to_string(-read);
    all.resize(static_cast<std::size_t>(read));
    for (char& c : all) c = c == '\0' ? '.' : c;
    return all;
  }
  // As a process sees it that only reads the files.
  std::string flushed_text() const {
    const auto container = Container::open(path_);
    if (!container) return container.error().text();
    std::string all(200, '?');
    const auto size = container->read(0, std::as_writable_bytes(std::span(all)));
    if (!size) return size.error().text();
    all.resize(*size);
    for (char& c : all) c = c == '\0' ? '.' : c;
    return all;
  }
  std::size_t files_ending(const std::string& ending) const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(path_)) {
      count += entry.path().string().ends_with(ending) ? 1 : 0;
    }
    return count;
  }
  // As fork(2) in a program that has a face.
  static pid_t fork_safely() {
    LoggedFile::before_fork();
    const pid_t child = fork();
    LoggedFile::after_fork(child == 0);
    return child;
  }
  // Runs `work` in a process of its own, which exits with what it returns.
  template <class Work>
  static int in_child(Work&& work) {
    const pid_t child = fork_safely();
    if (child == 0) _exit(work());
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  fs::path root_;
  std::string path_;
};

}  // namespace iotune::logstore::testing
