// One file of HDF5 that the program has open for writing, and what this rank holds of its datasets.
#pragma once

#include <memory>
#include <mutex>
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
  // `comm`: this file's own communicator, of the ranks that opened it together; 0: one process has
  // it by itself. `number`: HDF5's for what is one file, however often it is open.
  GatheredHdf5File(Hid id, Word comm, unsigned long number, bool exchanges,
                   bool metadata_is_collective) noexcept
      : id_(id),
        comm_(comm),
        number_(number),
        exchanges_(exchanges),
        metadata_is_collective_(metadata_is_collective) {}
  ~GatheredHdf5File();
  GatheredHdf5File(const GatheredHdf5File&) = delete;
  GatheredHdf5File& operator=(const GatheredHdf5File&) = delete;

  Hid id() const noexcept { return id_; }
  unsigned long number() const noexcept { return number_; }
  bool is_parallel() const noexcept { return comm_ != 0; }

  // The program has opened or made a dataset of this file. Throws std::bad_alloc.
  void dataset_opened(Hid id, std::uint64_t address, Budget& budget);
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
  // The one of an identifier; nullptr: none.
  GatheredDataset* dataset_of(Hid id) noexcept;

 private:
  class OpenedAgain;
  void forget_closed() noexcept;
  void fail() noexcept { failed_ = unsaid_ = true; }
  bool write_by_itself(GatheredDataset& dataset, Hid id) noexcept;
  void write_together(std::uint64_t address, GatheredDataset* dataset) noexcept;
  GatheredDataset* next_held(std::uint64_t from) noexcept;

  const Hid id_;
  const Word comm_;
  const unsigned long number_;
  const bool exchanges_, metadata_is_collective_;
  std::vector<std::unique_ptr<GatheredDataset>> datasets_;  // ascending by address
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

  GatheredHdf5File* of_file(Hid id) noexcept;
  // The dataset of an identifier and its file; nullptr: it is not gathered.
  GatheredDataset* of_dataset(Hid id, GatheredHdf5File*& file) noexcept;
  void remove(GatheredHdf5File* file) noexcept;
  void write_out() noexcept;
};
extern Hdf5Files& g_hdf5_files;

}  // namespace iotune::gather
