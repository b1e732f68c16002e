// Containers as names: made, recognised, renamed, removed while they are open.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>

#include "store_fixture.h"

namespace iotune::logstore {
namespace {

using testing::StoreTest;
namespace fs = std::filesystem;

class StoreNamesTest : public StoreTest {
 protected:
  std::string other() const { return (root_ / "other").string(); }
  static mode_t mode_of(const std::string& path) {
    struct stat about {};
    EXPECT_EQ(stat(path.c_str(), &about), 0) << path;
    return about.st_mode & 07777;
  }
  std::size_t names_in_root() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(root_), fs::directory_iterator()));
  }
};

TEST_F(StoreNamesTest, a_container_has_a_handle_of_the_mode_that_was_wanted) {
  EXPECT_TRUE(fs::is_empty(path_ + "/handle"));
  EXPECT_EQ(mode_of(path_ + "/handle"), 0644U);
  EXPECT_EQ(mode_of(path_), 0755U);
  EXPECT_EQ(Container::open(path_)->strangers().size(), 0U);
  for (const auto& [mode, directory] : {std::pair<mode_t, mode_t>{0600, 0700},
                                        {0664, 0775},
                                        {0444, 0755},
                                        {0, 0700},
                                        {0622, 0733}}) {
    fs::remove_all(other());
    ASSERT_EQ(LoggedFile::make(other(), mode), 0);
    EXPECT_EQ(mode_of(other() + "/handle"), mode);
    EXPECT_EQ(mode_of(other()), directory);
    put(*open(other()), 0, "x");  // its owner may, whatever the mode
  }
}

TEST_F(StoreNamesTest, logs_may_be_read_by_whom_the_file_may) {
  const mode_t before = umask(077);
  ASSERT_EQ(LoggedFile::make(other(), 0644), 0);
  put(*open(other()), 0, "x");
  umask(before);
  for (const auto& entry : fs::directory_iterator(other())) {
    EXPECT_EQ(mode_of(entry.path()), 0644U) << entry.path();
  }
}

TEST_F(StoreNamesTest, modes_and_owners_are_those_of_all_that_is_in_it) {
  const auto file = open();
  put(*file, 0, "x");
  EXPECT_EQ(file->set_mode(0464), 0);
  EXPECT_EQ(mode_of(path_), 0775U);
  for (const auto& entry : fs::directory_iterator(path_)) {
    const bool is_handle = entry.path().filename() == "handle";
    EXPECT_EQ(mode_of(entry.path()), is_handle ? 0464U : 0664U) << entry.path();
  }
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  EXPECT_EQ(file->set_owner(12345, 54321), 0);
  put(*open(), 0, "y");
  LoggedFile::close_idle();
  EXPECT_EQ(in_child([&] { return put(*open(), 1, "z") == 1 ? 0 : 1; }), 0);
  for (const auto& entry : fs::directory_iterator(path_)) {
    struct stat about {};
    ASSERT_EQ(stat(entry.path().c_str(), &about), 0);
    EXPECT_EQ(about.st_uid, 12345U) << entry.path();
    EXPECT_EQ(about.st_gid, 54321U) << entry.path();
  }
}

TEST_F(StoreNamesTest, nothing_is_made_where_something_is) {
  EXPECT_EQ(LoggedFile::make(path_, 0644), -EEXIST);
  EXPECT_EQ(LoggedFile::make(root_, 0644), -EEXIST);
  fs::create_symlink("nowhere", other());
  EXPECT_EQ(LoggedFile::make(other(), 0644), -EEXIST);
  EXPECT_EQ(LoggedFile::make((root_ / "no" / "file").string(), 0644), -ENOENT);
  EXPECT_EQ(LoggedFile::make((root_ / std::string(250, 'n')).string(), 0644), 0);
  EXPECT_EQ(LoggedFile::make((root_ / std::string(256, 'n')).string(), 0644), -ENAMETOOLONG);
  EXPECT_EQ(names_in_root(), 3U);  // and nothing is left behind
}

TEST_F(StoreNamesTest, only_one_of_many_who_make_it_does) {
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const int made = LoggedFile::make(other(), 0644);
      _exit(made == 0 ? 0 : made == -EEXIST ? 1 : 2);
    }
    children.push_back(child);
  }
  int made = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_LE(WEXITSTATUS(status), 1);
    made += WEXITSTATUS(status) == 0 ? 1 : 0;
  }
  EXPECT_EQ(made, 1);
  EXPECT_EQ(names_in_root(), 2U);
}

TEST_F(StoreNamesTest, containers_are_distinguished_from_directories) {
  EXPECT_TRUE(is_container(AT_FDCWD, path_.c_str()));
  EXPECT_FALSE(is_container(AT_FDCWD, root_.c_str()));
  EXPECT_FALSE(is_container(AT_FDCWD, (path_ + "/README").c_str()));
  EXPECT_FALSE(is_container(AT_FDCWD, "/nowhere"));
  fs::create_symlink(path_, other());
  EXPECT_TRUE(is_container(AT_FDCWD, other().c_str()));
  EXPECT_FALSE(is_container(AT_FDCWD, other().c_str(), false));
  const int at = ::open(root_.c_str(), O_RDONLY | O_DIRECTORY);
  EXPECT_TRUE(is_container(at, "file.h5"));
  close(at);
  std::shared_ptr<LoggedFile> file;
  EXPECT_EQ(LoggedFile::open(root_, options(), file), -EISDIR);
  EXPECT_EQ(LoggedFile::open((root_ / "no").string(), options(), file), -ENOENT);
  EXPECT_EQ(LoggedFile::open(path_ + "/README", options(), file), -ENOTDIR);
  std::fstream description(path_ + "/container", std::ios::in | std::ios::out);
  description.seekp(16).put(2);
  description.close();
  EXPECT_EQ(LoggedFile::open(path_, options(), file), -ENOTSUP);
  EXPECT_EQ(said().size(), 1U);
}

TEST_F(StoreNamesTest, who_has_a_removed_file_open_reads_and_writes_it) {
  EXPECT_EQ(in_child([&] { return put(*open(), 0, "theirs") == 6 ? 0 : 1; }), 0);
  const auto file = open();
  put(*file, 4, "mine");
  ASSERT_EQ(remove_container(path_), 0);
  EXPECT_EQ(names_in_root(), 0U);
  EXPECT_EQ(text(*file), "theimine");
  put(*file, 0, "T");
  file->refresh();
  EXPECT_EQ(file->truncate(7), 0);
  EXPECT_EQ(text(*file), "Theimin");
  EXPECT_EQ(file->flush(), 0);
  EXPECT_EQ(file->sync(), 0);
  struct stat about {};
  EXPECT_EQ(file->status(about), 0);
  EXPECT_EQ(about.st_nlink, 0U);
  EXPECT_EQ(about.st_size, 7);
  std::int64_t at = 0;
  EXPECT_EQ(file->append("++", 2, at), 2);
  EXPECT_EQ(text(*file), "Theimin++");
}

TEST_F(StoreNamesTest, a_file_that_was_removed_before_its_first_write_is_written_all_the_same) {
  const auto file = open();
  EXPECT_EQ(in_child([&] { return remove_container(path_) == 0 ? 0 : 1; }), 0);
  EXPECT_EQ(put(*file, 2, "late"), 4);
  EXPECT_EQ(file->flush(), 0);
  EXPECT_EQ(names_in_root(), 0U);
}

TEST_F(StoreNamesTest, bytes_that_another_process_removed_are_never_zeros) {
  put(*open(), 0, "bytes");
  LoggedFile::close_idle();
  const auto file = open();
  EXPECT_EQ(in_child([&] { return remove_container(path_) == 0 ? 0 : 1; }), 0);
  EXPECT_EQ(text(*file), "error " + std::to_string(ESTALE));
  EXPECT_EQ(file->size(), -ESTALE);
  put(*file, 8, "x");
  EXPECT_EQ(text(*file), "error " + std::to_string(ESTALE));
}

TEST_F(StoreNamesTest, a_new_file_at_the_same_name_is_another) {
  const auto old = open();
  put(*old, 0, "old");
  ASSERT_EQ(remove_container(path_), 0);
  ASSERT_EQ(LoggedFile::make(path_, 0644), 0);
  const auto fresh = open();
  EXPECT_NE(old, fresh);
  EXPECT_EQ(text(*fresh), "");
  put(*fresh, 0, "new");
  EXPECT_EQ(text(*old), "old");
  EXPECT_EQ(text(*fresh), "new");
}

TEST_F(StoreNamesTest, an_idle_file_that_others_removed_is_forgotten) {
  put(*open(), 0, "old");
  EXPECT_EQ(in_child([&] { return remove_container(path_) == 0 ? 0 : 1; }), 0);
  ASSERT_EQ(LoggedFile::make(path_, 0644), 0);
  const auto fresh = open();
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code none;
    const std::string target = fs::read_symlink(entry.path(), none).string();
    EXPECT_EQ(target.find("(deleted)"), std::string::npos) << target;
  }
}

TEST_F(StoreNamesTest, what_is_no_container_is_not_removed) {
  fs::create_directory(other());
  EXPECT_EQ(remove_container(other()), -ENOTDIR);
  fs::create_symlink(path_, root_ / "link");
  EXPECT_EQ(remove_container((root_ / "link").string()), -ENOTDIR);
  EXPECT_EQ(remove_container((root_ / "no").string()), -ENOENT);
  EXPECT_TRUE(is_container(AT_FDCWD, path_.c_str()));
}

TEST_F(StoreNamesTest, a_rename_takes_the_place_of_files_and_containers) {
  const auto file = open();
  put(*file, 0, "one");
  ASSERT_EQ(rename_container(path_, other(), 0), 0);
  EXPECT_EQ(open(other()), file);
  put(*file, 3, "+");
  ASSERT_EQ(LoggedFile::make(path_, 0644), 0);
  const auto replaced = open();
  put(*replaced, 0, "two");
  EXPECT_EQ(rename_container(other(), path_, RENAME_NOREPLACE), -EEXIST);
  ASSERT_EQ(rename_container(other(), path_, 0), 0);
  EXPECT_EQ(open(), file);
  EXPECT_EQ(text(*file), "one+");
  EXPECT_EQ(text(*replaced), "two");
  std::ofstream(other()) << "plain";
  ASSERT_EQ(rename_container(path_, other(), 0), 0);
  EXPECT_EQ(text(*open(other())), "one+");
  std::ofstream(path_) << "plain";
  ASSERT_EQ(rename_container(path_, other(), 0), 0);  // a plain file over a container
  EXPECT_TRUE(fs::is_regular_file(other()));
  EXPECT_EQ(names_in_root(), 1U);
}

TEST_F(StoreNamesTest, a_rename_leaves_directories_alone) {
  fs::create_directory(other());
  EXPECT_EQ(rename_container(path_, other(), 0), -EISDIR);  // even an empty one
  EXPECT_EQ(rename_container(path_, (root_ / "no" / "x").string(), 0), -ENOENT);
  EXPECT_EQ(rename_container((root_ / "no").string(), path_, 0), -ENOENT);
  EXPECT_EQ(rename_container(path_, path_, 0), 0);
  EXPECT_TRUE(is_container(AT_FDCWD, path_.c_str()));
  ASSERT_EQ(rename_container(path_, other(), RENAME_EXCHANGE), 0);
  EXPECT_TRUE(is_container(AT_FDCWD, other().c_str()));
}

TEST_F(StoreNamesTest, bytes_in_the_handle_are_reported) {
  EXPECT_EQ(Container::open(path_)->handle_bytes(), 0);
  std::ofstream(path_ + "/handle") << "went past";
  EXPECT_EQ(Container::open(path_)->handle_bytes(), 9);
  EXPECT_EQ(open()->size(), 0);
}

}  // namespace
}  // namespace iotune::logstore
