// The text of schema.sql and of later steps, embedded at build time.
#pragma once

namespace iotune::patterndb {

// kSchemaSteps[v] takes a database from version v to v + 1.
extern const char* const kSchemaSteps[];

}  // namespace iotune::patterndb
