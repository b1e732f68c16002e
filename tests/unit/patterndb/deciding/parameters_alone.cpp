// Compiled without any C++ header: the table must serve the preload.
#include "patterndb/settings/filesystems.h"
#include "patterndb/settings/parameters.h"

static_assert(iotune::find_parameter("no_such_name") == nullptr);
static_assert(iotune::validate("cb_nodes", "2") == nullptr);
static_assert(iotune::validate("cb_nodes", "0") != nullptr);
static_assert(iotune::filesystem_name(0xEF53)[0] == 'e');

const char* patterndb_parameters_alone(const char* name, const char* value);
const char* patterndb_parameters_alone(const char* name, const char* value) {
  return iotune::validate(name, value);
}
