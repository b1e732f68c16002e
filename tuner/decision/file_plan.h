// What a file's decision says of its datasets and transfers, kept while the file is open.
#pragma once

#include "core/abi/hdf5_api.h"
#include "core/abi/mpi_api.h"
#include "recorder/hooks/decisions.h"
#include "tuner/decision/packed_decision.h"

namespace iotune::tuner {

// The transfers for which individual I/O was set.
struct IndividualTransfers {
  int all;
  int kept;                     // by HDF5, in the transfer's list
  int collective, taken_apart;  // as HDF5 says that it made them, of the others it does not tell
};
enum class IndividualOutcome : std::uint8_t {
  kNotNoted,
  kNoTransfer,
  kNotKept,
  kTakenApart,
  kUnreported,
  kAllCollective,
  kInPart
};

struct FilePlan {
  FilePlan* next;
  std::uint32_t provider;
  std::int64_t file;
  int users;  // the list and the calls that look at it
  char path[4096];
  bool mpio;
  Word comm;                  // of the ranks that opened the file; 0 once the program freed it
  bool individual_io;         // collective transfers send their bytes independently
  bool cache_set_by_program;  // H5Pset_cache on the file's list
  bool notes;                 // this process writes down what became of each setting
  int notes_left;             // below 0: so many datasets were not looked at
  IndividualTransfers individual;
  IndividualOutcome individual_noted;  // what is written down
  SettingList settings;                // of datasets and transfers; their texts stand in `answer`
  iotune_answer answer;                // a copy of the decision: the one of the open does not last
};

// A plan for the settings of `decision` that concern datasets and transfers; nullptr without
// memory. Made before the ranks vote, so that no rank is without one afterwards.
FilePlan* make_file_plan(const Decision& decision) noexcept;
void discard_file_plan(FilePlan* plan) noexcept;

// True where one of the settings concerns datasets or transfers.
bool concerns_datasets(const Decision& decision) noexcept;

// Lets plans go whose files were closed in a way that is not wrapped.
void keep_file_plan(Provider& hdf5, std::int64_t file, FilePlan* plan) noexcept;
// At H5Fclose: also notes what no transfer came for.
void forget_file_plan(const Provider& hdf5, std::int64_t file) noexcept;

// Writes down what became of individual I/O, again only where that has changed. Not while a record
// is being written.
void note_individual_io(FilePlan& plan) noexcept;

// The plan of the file that `object` (a file, group or dataset) belongs to, nullptr where it has
// none. Given back with release. Calls HDF5 only where some open file has a plan.
FilePlan* find_file_plan(Provider& hdf5, const Hdf5Api& api, std::int64_t object) noexcept;
void release(FilePlan* plan) noexcept;

// Does the id name a file that is open?
bool is_open_file(Provider& hdf5, std::int64_t file) noexcept;

// The program has freed the communicator that `comm` was made of.
void forget_plan_communicator(Word comm) noexcept;

// False while no file has a plan that is open.
bool any_file_plan() noexcept;

// True while some open file has `individual_io`.
bool any_individual_io() noexcept;

}  // namespace iotune::tuner
