// libiotune-logstore.so, loaded by the processes that IOTUNE_LOGSTORE is set for.
#pragma once

namespace iotune::logstore {

// Loads it and puts it between the wrappers and libc. By the constructor, once, after all tables of
// hooks are filled: those about opens and transfers leave logged files alone from then on, for the
// tuner's stripes and what prefetching reads ahead are of files that hold their own bytes. What
// fails is one line, and files below the prefixes are ordinary ones.
void install_log_store() noexcept;

}  // namespace iotune::logstore
