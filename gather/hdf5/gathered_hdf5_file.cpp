#include "gather/hdf5/gathered_hdf5_file.h"

#include <algorithm>
#include <new>
#include <utility>

#include "gather/held/coverage.h"
#include "gather/mpi/mpi_functions.h"

namespace iotune::gather {
namespace {

// Of one collective flush of a dataset; more pieces than that are written by each rank itself.
constexpr std::size_t kMostRounds = 64;

constinit bool g_mpi_is_over = false;

// The least of all ranks' numbers.
bool least_of(std::int64_t* numbers, int count, Word comm) noexcept {
  std::int64_t own[4];
  std::copy(numbers, numbers + count, own);
  return g_mpi.MPI_Allreduce(own, numbers, count, g_world.constants.int64, g_world.constants.op_min,
                             comm) == 0;
}

bool sum_of(std::uint64_t& number, Word comm) noexcept {
  const std::uint64_t own = number;
  return g_mpi.MPI_Allreduce(&own, &number, 1, g_world.constants.int64, g_world.constants.op_sum,
                             comm) == 0;
}

// What is held, as it is to be written; false: there is no memory for it.
bool prepare(GatheredDataset& dataset, Ascending& pieces, std::vector<Hyperslab>& slabs) noexcept {
  try {
    pieces = dataset.held().ascending();
    slabs = slabs_of(dataset.extent(), dataset.element_bytes(), pieces.runs);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

// Lives as long as the process: HDF5 may have ended before this library does.
Hdf5Files& g_hdf5_files = *new Hdf5Files;

GatheredHdf5File::~GatheredHdf5File() {
  Word comm = opened_.comm;
  if (comm != 0) g_mpi.MPI_Comm_free(&comm);
}

// A dataset by an identifier: the program's own, or one of ours where it has closed it.
class GatheredHdf5File::OpenedAgain {
 public:
  OpenedAgain(Hid file, std::uint64_t address, GatheredDataset* dataset) noexcept
      : given_(dataset == nullptr ? -1 : dataset->any_id()),
        made_(given_ >= 0 ? -1 : g_h5.H5Oopen_by_addr(file, address), g_h5.H5Dclose) {}
  Hid id() const noexcept { return given_ >= 0 ? given_ : static_cast<Hid>(made_); }

 private:
  const Hid given_;
  const OwnId made_;
};

GatheredDataset* GatheredHdf5File::next_held(std::uint64_t from) noexcept {
  for (auto one = datasets_.lower_bound(from); one != datasets_.end(); ++one) {
    if (!one->second->held().empty()) return one->second.get();
  }
  return nullptr;
}

void GatheredHdf5File::dataset_opened(Hid id, std::uint64_t address, bool may_wait,
                                      Budget& budget) {
  auto known = datasets_.find(address);
  if (known == datasets_.end()) {
    const OwnId type(may_wait ? g_h5.H5Dget_type(id) : -1, g_h5.H5Tclose);
    // A copy is no object of the file.
    const Hid own = type >= 0 && is_plain(type) ? g_h5.H5Tcopy(type) : -1;
    const std::size_t element_bytes = own < 0 ? 0 : g_h5.H5Tget_size(own);
    auto dataset = std::make_unique<GatheredDataset>(address, own, element_bytes,
                                                     largest_lone_piece_bytes_, budget);
    known = datasets_.emplace(address, std::move(dataset)).first;
  }
  known->second->opened(id);
  g_hdf5_files.datasets[id] = {this, known->second.get()};
}

void GatheredHdf5File::dataset_closes(GatheredDataset& dataset, Hid id) noexcept {
  // Where it is opened again for the flush, its metadata are read: by all ranks, if that is asked
  // for, and so by none of them alone.
  const bool stays =
      opened_.comm != 0 && !opened_.metadata_is_collective && !dataset.ends_with_close();
  if (!stays) write_out(dataset);
  dataset.closed(id);
  g_hdf5_files.datasets.erase(id);
  if (!dataset.is_open() && dataset.held().empty()) datasets_.erase(dataset.address());
}

bool GatheredHdf5File::hold(GatheredDataset& dataset, Hid id, const WriteCall& call) noexcept {
  const std::size_t before = dataset.held().bytes();
  const NotHeld why = failed_   ? NotHeld::kError
                      : !holds_ ? NotHeld::kStopped
                                : dataset.hold(id, call);
  if (why == NotHeld::kCount) {
    ++account_.counts.held_calls;
    account_.counts.held_bytes += dataset.held().bytes() - before;
    has_held_ = true;
    return true;
  }
  account_.count(why);
  write_out(dataset);
  return false;
}

bool GatheredHdf5File::write_by_itself(GatheredDataset& dataset, Hid id, bool in_flush) noexcept {
  Ascending pieces{{}, nullptr, 0};
  std::vector<Hyperslab> slabs;
  const bool good =
      prepare(dataset, pieces, slabs) && dataset.write(id, pieces, slabs, 0 /* H5P_DEFAULT */);
  GatherCounts& counts = account_.counts;
  (in_flush ? counts.piece_writes : counts.alone_writes) += slabs.size();
  (in_flush ? counts.piece_bytes : counts.alone_bytes) += pieces.bytes;
  dataset.held().clear();
  if (!good) fail();
  return good;
}

bool GatheredHdf5File::write_out(GatheredDataset& dataset) noexcept {
  if (dataset.held().empty()) return true;
  const OpenedAgain opened(opened_.id, dataset.address(), &dataset);
  return write_by_itself(dataset, opened.id(), false);
}

bool GatheredHdf5File::write_out() noexcept {
  bool good = true;
  if (!std::exchange(has_held_, false)) return true;
  for (const auto& [address, dataset] : datasets_) good = write_out(*dataset) && good;
  forget_closed();
  return good;
}

void GatheredHdf5File::forget_closed() noexcept {
  std::erase_if(datasets_, [](const auto& one) { return !one.second->is_open(); });
}

void GatheredHdf5File::write_together(std::uint64_t address, GatheredDataset* dataset) noexcept {
  const OpenedAgain opened(opened_.id, address, dataset);
  Ascending pieces{{}, nullptr, 0};
  std::vector<Hyperslab> slabs;
  const bool prepared = dataset == nullptr || prepare(*dataset, pieces, slabs);
  const bool can = prepared && opened_.exchanges && opened.id() >= 0 && slabs.size() <= kMostRounds;
  // The least of all: begin, -end, may write together, -rounds.
  std::int64_t least[4] = {pieces.empty() ? INT64_MAX : pieces.begin(),
                           pieces.empty() ? INT64_MAX : -pieces.end(), can ? 1 : 0,
                           -static_cast<std::int64_t>(slabs.size())};
  std::uint64_t steps = steps_of(pieces);
  const bool together = least_of(least, 4, opened_.comm) && least[2] != 0 &&
                        sum_of(steps, opened_.comm) && fills(steps, least[0], -least[1]);
  if (!together) {
    if (dataset != nullptr) write_by_itself(*dataset, opened.id(), true);
    return;
  }
  const OwnId list(new_transfer_list(true), g_h5.H5Pclose);
  if (dataset == nullptr) {
    if (!write_nothing(opened.id(), static_cast<std::size_t>(-least[3]), list)) fail();
    return;
  }
  bool good = dataset->write(opened.id(), pieces, slabs, list);
  const std::size_t others = static_cast<std::size_t>(-least[3]) - slabs.size();
  good = write_nothing(opened.id(), others, list) && good;
  account_.counts.exchange_calls += static_cast<std::size_t>(-least[3]);
  account_.counts.exchange_bytes += pieces.bytes;
  dataset->held().clear();
  if (!good) fail();
}

bool GatheredHdf5File::flush(Says says) noexcept {
  const auto fails = [&] {
    return says == Says::kAll ? failed_ : says == Says::kWhatIsNew && unsaid_;
  };
  bool good = true;
  if (opened_.comm == 0 || opened_.metadata_is_collective || g_mpi_is_over) write_out();
  const bool meets = opened_.comm != 0 && !g_mpi_is_over;
  for (std::uint64_t from = 0; meets;) {
    GatheredDataset* const own = next_held(from);
    constexpr std::int64_t kNone = INT64_MAX;
    std::int64_t least[2] = {own == nullptr ? kNone : static_cast<std::int64_t>(own->address()),
                             fails() ? 0 : 1};
    if (!least_of(least, 2, opened_.comm)) {
      write_out();
      break;
    }
    good = least[1] != 0;
    if (least[0] == kNone) break;
    if (from == 0) ++account_.counts.flushes;
    const auto address = static_cast<std::uint64_t>(least[0]);
    const bool is_own = own != nullptr && own->address() == address;
    write_together(address, is_own ? own : nullptr);
    from = address + 1;
  }
  good = good && !fails();
  if (says != Says::kNothing) unsaid_ = false;
  forget_closed();
  return good;
}

void GatheredHdf5File::forget_extents() noexcept {
  for (const auto& [address, dataset] : datasets_) dataset->forget_extent();
}

void GatheredHdf5File::objects_may_end() noexcept {
  for (const auto& [address, dataset] : datasets_) dataset->may_end();
}

void GatheredHdf5File::note(void (*write)(const GatherNote& note)) const noexcept {
  std::size_t waiting_bytes = 0;
  for (const auto& [address, dataset] : datasets_) waiting_bytes += dataset->held().bytes();
  account_.note(write, name_.c_str(), waiting_bytes);
}

GatheredHdf5File* Hdf5Files::of_file(Hid id) noexcept {
  for (const auto& file : list) {
    if (file->id() == id) return file.get();
  }
  return nullptr;
}

GatheredDataset* Hdf5Files::of_dataset(Hid id, GatheredHdf5File*& file) noexcept {
  const auto found = datasets.find(id);
  file = found == datasets.end() ? nullptr : found->second.file;
  return file == nullptr ? nullptr : found->second.dataset;
}

void Hdf5Files::remove(GatheredHdf5File* file) noexcept {
  std::erase_if(datasets, [&](const auto& one) { return one.second.file == file; });
  std::erase_if(list, [&](const auto& one) { return one.get() == file; });
}

void Hdf5Files::write_out() noexcept {
  for (const auto& file : list) file->write_out();
}

void end_hdf5() noexcept {
  if (InsideHdf5::holds()) return;
  const Turn turn;
  g_hdf5_files.write_out();
  g_mpi_is_over = true;
}

}  // namespace iotune::gather
