// How this process keeps its logged files.
#pragma once

#include "logstore/store/logged_file.h"

namespace iotune::logstore {

const StoreOptions& store_options() noexcept;

}  // namespace iotune::logstore
