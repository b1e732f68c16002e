// Where the database and the spool are, and whether a file may be trusted.
#pragma once

#include <string>
#include <string_view>

#include "patterndb/result.h"

namespace iotune::patterndb {

// $IOTUNE_DB ("none": no database at all), else $XDG_DATA_HOME/iotune/patterns.db, else
// ~/.local/share/iotune/patterns.db. Empty where neither a variable nor a home exists. Set-user-id
// programs see no variables.
std::string default_db_path();
// The same folder's spool/, whatever IOTUNE_DB says: what a run did is the user's own.
std::string default_spool_dir();

// IOTUNE_DB_SHARED: the user trusts everybody who may write the database.
bool shared_databases_allowed();
// "" or why the existing file must not be read: others than its owner may write or replace it.
std::string reason_to_refuse(const std::string& path);

// Makes the folder with its parents, each 0700. Throws Fault.
void make_private_folder(const std::string& path);

std::string base_name(std::string_view path);
// The base name with each run of digits as '#': vpic00012.h5 is vpic#.h5.
std::string masked_name(std::string_view path);

// One of patterndb/filesystems.h for the file's folder, "unknown" where statfs fails.
std::string filesystem_of(const std::string& path);
// Other spellings (those of /proc/mounts) of the names in patterndb/filesystems.h.
std::string canonical_filesystem(std::string_view name);
std::string host_class();  // the machine's instruction set

}  // namespace iotune::patterndb
