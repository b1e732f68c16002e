#include "patterndb/store/places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <memory>

#include "analyzer/summary/masked_name.h"
#include "core/os/fnv1a.h"
#include "core/run/only_read_file.h"
#include "patterndb/settings/filesystems.h"

namespace iotune::patterndb {

namespace {

std::string variable(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string data_folder() {
  std::string xdg = variable("XDG_DATA_HOME");
  if (!xdg.empty() && xdg[0] == '/') return xdg + "/iotune";  // relative ones are invalid there
  std::string home = variable("HOME");
  return home.empty() ? std::string() : home + "/.local/share/iotune";
}

bool is_only_read(const std::string& path) {
  return !path.empty() && path != "none" && iotune::is_only_read(path.c_str());
}

// Whether a group is one user's own, as Debian makes one for each: it has the user's number. Its
// members cannot be asked for, because that loads whatever the site's /etc/nsswitch.conf names.
bool has_private_group(const struct stat& status) {
  return status.st_gid == status.st_uid;
}

// Whether others than the folder's owner may put another file, or another folder, in the place of
// one in it; in a sticky one only its owner may. `own`: the file is the caller's, so that what a
// group of colleagues puts there instead is not, unless the caller left it himself.
bool is_open(const struct stat& folder, bool own) {
  if ((folder.st_mode & S_ISVTX) != 0) return false;
  if ((folder.st_mode & S_IWOTH) != 0) return true;
  return (folder.st_mode & S_IWGRP) != 0 && !own && !has_private_group(folder);
}

// Of those above the file, next to it first; empty where there is none.
std::string open_folder(const std::string& path, bool own) {
  struct stat status;
  for (std::size_t slash = path.rfind('/');;) {
    std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    if (stat(folder.c_str(), &status) == 0 && is_open(status, own)) return folder;
    if (slash == std::string::npos || slash == 0) return {};
    slash = path.rfind('/', slash - 1);
  }
}

}  // namespace

bool can_be_changed(const std::string& path) {
  return may_be_changed(path.c_str());
}

std::string default_db_path() {
  std::string named = variable("IOTUNE_DB");
  const std::string folder = data_folder();
  if (!named.empty() && (folder.empty() || !is_only_read(named))) return named;
  return folder.empty() ? std::string() : folder + "/patterns.db";
}

std::vector<std::string> lower_db_paths(const std::string& of_site) {
  std::string named = variable("IOTUNE_DB");
  if (named == "none") return {};
  const std::string own = default_db_path();
  std::vector<std::string> paths;
  if (is_only_read(named) && own != named) paths.push_back(named);
  if (!of_site.empty() && of_site != own && of_site != named) paths.push_back(of_site);
  return paths;
}

std::string spool_dir_of(const std::string& database) {
  const std::string folder = data_folder();
  if (folder.empty()) return {};
  std::string spool = folder + "/spool";
  if (database.empty() || database == "none" || database == folder + "/patterns.db") return spool;
  const std::unique_ptr<char, void (*)(void*)> real(realpath(database.c_str(), nullptr), free);
  Fnv1a hash;
  for (const char c : real ? std::string(real.get()) : database) hash.add(c);
  char name[32];
  snprintf(name, sizeof name, "/of-%016llx", static_cast<unsigned long long>(hash.value()));
  return spool + name;
}

std::string default_spool_dir() {
  return spool_dir_of(default_db_path());
}

bool shared_databases_allowed() {
  std::string said = variable("IOTUNE_DB_SHARED");
  return !said.empty() && said != "0";
}

std::string reason_to_refuse(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return {};
  if (!S_ISREG(status.st_mode)) return path + ": not a regular file";
  if (shared_databases_allowed()) return {};
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return path + ": refused, others than its owner (uid " + std::to_string(status.st_uid) +
           ") may write it (chmod go-w it, or set IOTUNE_DB_SHARED=1)";
  }
  const bool own = status.st_uid == geteuid();
  std::string open = open_folder(path, own);
  // Behind a link too: the file is what its folders say.
  std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), free);
  if (open.empty() && real) open = open_folder(real.get(), own);
  if (open.empty()) return {};
  return path + ": refused, others than its owner may write its folder " + open +
         " (chmod go-w it, or set IOTUNE_DB_SHARED=1)";
}

void make_private_folder(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    std::string part = path.substr(0, slash);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      throw Fault{part + ": " + error_text(errno)};
    }
    if (slash == std::string::npos) break;
  }
}

std::string base_name(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

std::string masked_name(std::string_view path) {
  std::string masked;
  analyzer::each_masked_character(base_name(path), [&](char c) { masked += c; });
  return masked;
}

std::string filesystem_of(const std::string& path) {
  // Of a link, that of what it points to. The question at an open asks the same.
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), free);
  const std::string file = real ? real.get() : path;
  std::size_t slash = file.rfind('/');
  std::string folder = slash == std::string::npos ? "." : file.substr(0, slash + 1);
  // ceph-fuse passes for plain FUSE otherwise.
  if (getxattr(folder.c_str(), "ceph.dir.entries", nullptr, 0) >= 0) return "cephfs";
  struct statfs status;
  if (statfs(folder.c_str(), &status) != 0) return "unknown";
  return filesystem_name(static_cast<std::uint64_t>(status.f_type));
}

std::string canonical_filesystem(std::string_view name) {
  if (name == "ext2" || name == "ext3" || name == "ext2/ext3") return "ext4";
  if (name == "overlayfs") return "overlay";
  if (name == "nfs4" || name == "nfs3") return "nfs";
  if (name == "ceph") return "cephfs";
  if (name.substr(0, 5) == "fuse.") return "fuse";
  if (name == "cifs" || name == "smb2" || name == "smb3") return "smb";
  if (name == "wekafs") return "weka";
  return std::string(name);
}

std::string host_class() {
  struct utsname names;
  return uname(&names) == 0 ? std::string(names.machine) : std::string();
}

}  // namespace iotune::patterndb
