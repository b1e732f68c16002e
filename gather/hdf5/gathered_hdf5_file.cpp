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
  Word comm = comm_;
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

GatheredDataset* GatheredHdf5File::dataset_of(Hid id) noexcept {
  for (const auto& dataset : datasets_) {
    if (dataset->has(id)) return dataset.get();
  }
  return nullptr;
}

GatheredDataset* GatheredHdf5File::next_held(std::uint64_t from) noexcept {
  for (const auto& dataset : datasets_) {
    if (dataset->address() >= from && !dataset->held().empty()) return dataset.get();
  }
  return nullptr;
}

void GatheredHdf5File::dataset_opened(Hid id, std::uint64_t address, Budget& budget) {
  const auto place = std::lower_bound(
      datasets_.begin(), datasets_.end(), address,
      [](const auto& dataset, std::uint64_t value) { return dataset->address() < value; });
  if (place != datasets_.end() && (*place)->address() == address) {
    (*place)->opened(id);
    return;
  }
  const OwnId type(g_h5.H5Dget_type(id), g_h5.H5Tclose);
  if (type < 0 || !is_plain(type)) return;
  const Hid own = g_h5.H5Tcopy(type);  // one that is no object of the file
  if (own < 0) return;
  auto dataset = std::make_unique<GatheredDataset>(address, own, g_h5.H5Tget_size(own), budget);
  dataset->opened(id);
  datasets_.insert(place, std::move(dataset));
}

void GatheredHdf5File::dataset_closes(GatheredDataset& dataset, Hid id) noexcept {
  // Where it is opened again for the flush, its metadata are read: by all ranks, if that is asked
  // for, and so by none of them alone.
  const bool stays = comm_ != 0 && !metadata_is_collective_;
  if (!stays) write_out(dataset);
  dataset.closed(id);
  if (dataset.is_open() || !dataset.held().empty()) return;
  std::erase_if(datasets_, [&](const auto& one) { return one.get() == &dataset; });
}

bool GatheredHdf5File::hold(GatheredDataset& dataset, Hid id, const WriteCall& call) noexcept {
  if (holds_ && !failed_ && dataset.hold(id, call)) return true;
  write_out(dataset);
  return false;
}

bool GatheredHdf5File::write_by_itself(GatheredDataset& dataset, Hid id) noexcept {
  Ascending pieces{{}, nullptr, 0};
  std::vector<Hyperslab> slabs;
  const bool good =
      prepare(dataset, pieces, slabs) && dataset.write(id, pieces, slabs, 0 /* H5P_DEFAULT */);
  dataset.held().clear();
  if (!good) fail();
  return good;
}

bool GatheredHdf5File::write_out(GatheredDataset& dataset) noexcept {
  if (dataset.held().empty()) return true;
  const OpenedAgain opened(id_, dataset.address(), &dataset);
  return write_by_itself(dataset, opened.id());
}

bool GatheredHdf5File::write_out() noexcept {
  bool good = true;
  for (const auto& dataset : datasets_) good = write_out(*dataset) && good;
  forget_closed();
  return good;
}

void GatheredHdf5File::forget_closed() noexcept {
  std::erase_if(datasets_, [](const auto& one) { return !one->is_open(); });
}

void GatheredHdf5File::write_together(std::uint64_t address, GatheredDataset* dataset) noexcept {
  const OpenedAgain opened(id_, address, dataset);
  Ascending pieces{{}, nullptr, 0};
  std::vector<Hyperslab> slabs;
  const bool prepared = dataset == nullptr || prepare(*dataset, pieces, slabs);
  const bool can = prepared && exchanges_ && opened.id() >= 0 && slabs.size() <= kMostRounds;
  // The least of all: begin, -end, may write together, -rounds.
  std::int64_t least[4] = {pieces.empty() ? INT64_MAX : pieces.begin(),
                           pieces.empty() ? INT64_MAX : -pieces.end(), can ? 1 : 0,
                           -static_cast<std::int64_t>(slabs.size())};
  std::uint64_t steps = steps_of(pieces);
  const bool together = least_of(least, 4, comm_) && least[2] != 0 && sum_of(steps, comm_) &&
                        fills(steps, least[0], -least[1]);
  if (!together) {
    if (dataset != nullptr) write_by_itself(*dataset, opened.id());
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
  dataset->held().clear();
  if (!good) fail();
}

bool GatheredHdf5File::flush(Says says) noexcept {
  const auto fails = [&] {
    return says == Says::kAll ? failed_ : says == Says::kWhatIsNew && unsaid_;
  };
  bool good = true;
  if (comm_ == 0 || metadata_is_collective_ || g_mpi_is_over) write_out();
  const bool meets = comm_ != 0 && !g_mpi_is_over;
  for (std::uint64_t from = 0; meets;) {
    GatheredDataset* const own = next_held(from);
    constexpr std::int64_t kNone = INT64_MAX;
    std::int64_t least[2] = {own == nullptr ? kNone : static_cast<std::int64_t>(own->address()),
                             fails() ? 0 : 1};
    if (!least_of(least, 2, comm_)) {
      write_out();
      break;
    }
    good = least[1] != 0;
    if (least[0] == kNone) break;
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
  for (const auto& dataset : datasets_) dataset->forget_extent();
}

GatheredHdf5File* Hdf5Files::of_file(Hid id) noexcept {
  for (const auto& file : list) {
    if (file->id() == id) return file.get();
  }
  return nullptr;
}

GatheredDataset* Hdf5Files::of_dataset(Hid id, GatheredHdf5File*& file) noexcept {
  for (const auto& one : list) {
    file = one.get();
    if (GatheredDataset* const dataset = one->dataset_of(id)) return dataset;
  }
  file = nullptr;
  return nullptr;
}

void Hdf5Files::remove(GatheredHdf5File* file) noexcept {
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
