// Where the database and the spool are, and whether a file may be trusted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "patterndb/store/result.h"

namespace iotune::patterndb {

// The user's own database, of which observations and answers become part: $IOTUNE_DB ("none": no
// database at all) unless that is there and may not be changed, else
// $XDG_DATA_HOME/iotune/patterns.db, else ~/.local/share/iotune/patterns.db. Empty where neither a
// variable nor a home exists. Set-user-id programs see no variables.
std::string default_db_path();
// The databases beneath it, which are only read, in the order in which they are asked: $IOTUNE_DB
// where it may not be changed, then `of_site`, what /etc/iotune.conf names.
std::vector<std::string> lower_db_paths(const std::string& of_site);
// Where observations wait that are to become part of the database: the data folder's spool/, and
// for any but the default database a folder of its own in there.
std::string spool_dir_of(const std::string& database);
std::string default_spool_dir();
// Whether the user may write the file and replace it.
bool can_be_changed(const std::string& path);

// IOTUNE_DB_SHARED: the user trusts everybody who may write the database.
bool shared_databases_allowed();
// "" or why the existing file must not be read: others than its owner may write or replace it.
std::string reason_to_refuse(const std::string& path);

// Makes the folder with its parents, each 0700. Throws Fault.
void make_private_folder(const std::string& path);

std::string base_name(std::string_view path);
// The base name with each number as '#': vpic00012.h5 is vpic#.h5.
std::string masked_name(std::string_view path);

// One of patterndb/settings/filesystems.h for the file's folder, "unknown" where statfs fails.
std::string filesystem_of(const std::string& path);
// Other spellings (those of /proc/mounts) of the names in patterndb/settings/filesystems.h.
std::string canonical_filesystem(std::string_view name);
std::string host_class();  // the machine's instruction set

}  // namespace iotune::patterndb
