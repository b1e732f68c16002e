// One file of HDF5 that the program has open for writing, and what this rank holds of its datasets.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "gather/hdf5/gathered_dataset.h"

namespace iotune::gather {

// While this thread is in HDF5 on behalf of gathering, or in a call that may call functions of the
// program's: their calls of HDF5 go past gathering.
class InsideHdf5 {
 public:
  InsideHdf5() noexcept { ++depth_; }
  ~InsideHdf5() { --depth_; }
  InsideHdf5(const InsideHdf5&) = delete;
  InsideHdf5& operator=(const InsideHdf5&) = delete;
  static bool holds() noexcept { return depth_ != 0; }

 private:
  static inline thread_local int depth_ = 0;
};

// Around what one thread does with gathered files; another one waits. Never begun inside of HDF5.
class Turn {
 public:
  Turn() noexcept : lock_(one_at_a_time_) {}

 private:
  static inline std::mutex one_at_a_time_;
  const std::lock_guard<std::mutex> lock_;
  const InsideHdf5 inside_;
};

// All members within a Turn.
class GatheredHdf5File {
 public:
  // `name`: as the program opened it. `comm`: this file's own communicator, of the ranks that
  // opened it together; 0: one process has it by itself. `number`: HDF5's for what is one file,
  // however often it is open.
  struct Opened {
    Hid id;
    Word comm;
    unsigned long number;
    bool exchanges, metadata_is_collective;
  };
  // Throws std::bad_alloc.
  GatheredHdf5File(const Opened& opened, const char* name)
      : opened_(opened), name_(name), largest_lone_piece_bytes_(largest_lone_piece_bytes(name)) {}
  ~GatheredHdf5File();
  GatheredHdf5File(const GatheredHdf5File&) = delete;
  GatheredHdf5File& operator=(const GatheredHdf5File&) = delete;

  Hid id() const noexcept { return opened_.id; }
  unsigned long number() const noexcept { return opened_.number; }
  bool is_parallel() const noexcept { return opened_.comm != 0; }

  // The program has opened or made a dataset of this file; its writes wait if it `may_wait`. Throws
  // std::bad_alloc.
  void dataset_opened(Hid id, std::uint64_t address, bool may_wait, Budget& budget);
  // Before its identifier is given back.
  void dataset_closes(GatheredDataset& dataset, Hid id) noexcept;
  // A write by `id`; false: the call is to be made, and what this rank holds of the dataset has
  // been written.
  bool hold(GatheredDataset& dataset, Hid id, const WriteCall& call) noexcept;

  // This rank alone, all that it holds, or of one dataset. False: some of it could not be written,
  // and flush() says so once more.
  bool write_out() noexcept;
  bool write_out(GatheredDataset& dataset) noexcept;
  // All ranks that opened the file, in a call that is collective already: when it returns, what any
  // of them holds is written. False: on some rank something could not be, which is to be said.
  enum class Says { kNothing, kWhatIsNew, kAll };
  bool flush(Says says) noexcept;

  // Nothing is held any more; what is held has been written.
  void stop() noexcept { holds_ = false; }
  void forget_extents() noexcept;
  // After a call that frees objects: what is open now is written before its close.
  void objects_may_end() noexcept;
  // What became of its writes, into the trace.
  void note(void (*write)(const GatherNote& note)) const noexcept;

 private:
  class OpenedAgain;
  void forget_closed() noexcept;
  void fail() noexcept { failed_ = unsaid_ = true; }
  bool write_by_itself(GatheredDataset& dataset, Hid id, bool in_flush) noexcept;
  void write_together(std::uint64_t address, GatheredDataset* dataset) noexcept;
  GatheredDataset* next_held(std::uint64_t from) noexcept;

  const Opened opened_;
  const std::string name_;
  const std::int64_t largest_lone_piece_bytes_;
  Account account_;
  std::map<std::uint64_t, std::unique_ptr<GatheredDataset>> datasets_;  // by address
  bool has_held_ = false;  // since the last time when all went out
  bool holds_ = true;
  bool failed_ = false;  // nothing is held any more
  bool unsaid_ = false;  // since the last flush()
};

// Before MPI's end, and the process's: what is held is written by this rank itself, and from now on
// MPI is not called.
void end_hdf5() noexcept;

// The files of this process. Pointers are valid until the next change.
struct Hdf5Files {
  std::vector<std::unique_ptr<GatheredHdf5File>> list;
  struct Place {
    GatheredHdf5File* file;
    GatheredDataset* dataset;
  };
  std::unordered_map<Hid, Place> datasets;  // by the program's identifiers

  GatheredHdf5File* of_file(Hid id) noexcept;
  // The dataset of an identifier and its file; nullptr: it is not gathered.
  GatheredDataset* of_dataset(Hid id, GatheredHdf5File*& file) noexcept;
  void remove(GatheredHdf5File* file) noexcept;
  void write_out() noexcept;
};
extern Hdf5Files& g_hdf5_files;

}  // namespace iotune::gather
