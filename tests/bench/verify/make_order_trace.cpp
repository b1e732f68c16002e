// make_order_trace SHAPE RANKS COUNT FILE: a trace with the order of a run, written without running
// it.
//   barriers  COUNT regular writes a rank to one file, each rank's own records; a barrier after
//   each
//             thousand
//   pairs     COUNT accesses a rank, drawn so that five of six pairs of two ranks' overlap; half of
//             them before a barrier, half behind it
//   halo      COUNT exchanges of a rank with its two neighbours, then a block of a file by each
//   rank
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recorder/call_table.h"
#include "recorder/write/access_writer.h"

namespace iotune::recorder {
namespace {

constexpr std::int64_t kWorld = 0x44000000;  // MPICH's MPI_COMM_WORLD
constexpr std::int64_t kType = 0x4c00010d;   // any
constexpr std::int64_t kFirstRequest = 0x2c000000;

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

using Values = std::vector<std::pair<std::string_view, std::vector<std::int64_t>>>;

class OrderTrace {
 public:
  OrderTrace(const std::string& file, std::uint64_t ranks)
      : writer_(file, KeptTimes::kPattern, true), ranks_(ranks) {}

  void begin_rank(std::uint64_t rank) {
    process_ = writer_.trace().add_process({{"rank", std::to_string(rank)},
                                            {"size", std::to_string(ranks_)},
                                            {"pid", std::to_string(1000 + rank)},
                                            {"host", "node"},
                                            {"program", "made"},
                                            {"order", "yes"}});
    now_ns_ = 1'000'000'000;
  }

  // By its arguments' and extras' names; what is not named is 0.
  void call(std::string_view name, const Values& values) {
    const CallSignature* const signature = find_call(name);
    if (signature == nullptr) {
      std::fprintf(stderr, "make_order_trace: no call %.*s\n", static_cast<int>(name.size()),
                   name.data());
      std::exit(1);
    }
    numbers_.clear();
    for (const ArgumentSignature& argument : signature->arguments) {
      const std::vector<std::int64_t>* const given = find(values, argument.name);
      if (argument.form == ArgumentForm::kNumber) {
        numbers_.push_back(given == nullptr ? 0 : given->front());
      } else if (argument.form == ArgumentForm::kArray) {
        numbers_.push_back(given == nullptr ? 0 : static_cast<std::int64_t>(given->size()));
        if (given != nullptr) numbers_.insert(numbers_.end(), given->begin(), given->end());
      }
    }
    numbers_.push_back(0);  // MPI_SUCCESS
    for (const std::string_view extra : signature->extras) {
      const std::vector<std::int64_t>* const given = find(values, extra);
      if (given == nullptr) {
        numbers_.push_back(0);
      } else {
        numbers_.insert(numbers_.end(), given->begin(), given->end());
      }
    }
    NewCall made;
    made.function = static_cast<std::uint16_t>(signature - call_table().data());
    made.numbers = numbers_;
    made.start_ns = now_ns_;
    made.duration_ns = 500;
    now_ns_ += 1000;
    writer_.trace().add(process_, 0, made);
  }

  void access(AccessKind kind, std::int64_t offset, std::int64_t length) {
    NewAccess access;
    access.kind = kind;
    access.path = "/scratch/shared";
    access.offset = offset;
    access.length = length;
    access.start_ns = now_ns_;
    access.end_ns = now_ns_ + 500;
    now_ns_ += 1000;
    writer_.add(process_, 0, access);
  }

  void barrier() { call("MPI_Barrier", {{"comm", {kWorld}}}); }
  int finish() {
    const auto written = writer_.finish();
    if (written) return 0;
    std::fprintf(stderr, "make_order_trace: %s\n", written.error().text().c_str());
    return 1;
  }

 private:
  static const std::vector<std::int64_t>* find(const Values& values, std::string_view name) {
    for (const auto& [key, numbers] : values) {
      if (key == name) return &numbers;
    }
    return nullptr;
  }

  AccessWriter writer_;
  std::uint64_t ranks_;
  std::uint32_t process_ = 0;
  std::uint64_t now_ns_ = 0;
  std::vector<std::int64_t> numbers_;
};

void write_barriers(OrderTrace& to, std::uint64_t rank, std::uint64_t ranks, std::uint64_t count) {
  for (std::uint64_t k = 0; k < count; ++k) {
    to.access(AccessKind::kWrite, static_cast<std::int64_t>((k * ranks + rank) * 4096), 4096);
    if (k % 1000 == 999) to.barrier();
  }
}

void write_pairs(OrderTrace& to, std::uint64_t rank, std::uint64_t count) {
  // Of two places drawn below 1.7 lengths, 83 of 100 are less than a length apart.
  constexpr std::uint64_t kLength = 65536, kPlaces = kLength * 17 / 10;
  for (std::uint64_t k = 0; k < count; ++k) {
    const auto at = static_cast<std::int64_t>(mixed(k * 1024 + rank + 1) % kPlaces);
    to.access(rank % 2 == 0 ? AccessKind::kWrite : AccessKind::kRead, at, kLength);
    if (k == count / 2) to.barrier();
  }
}

void write_halo(OrderTrace& to, std::uint64_t rank, std::uint64_t ranks, std::uint64_t count) {
  const auto left = static_cast<std::int64_t>((rank + ranks - 1) % ranks);
  const auto right = static_cast<std::int64_t>((rank + 1) % ranks);
  const auto message = [&](std::string_view name, std::string_view peer_name, std::int64_t peer,
                           std::int64_t tag, std::int64_t request) {
    to.call(name, {{"count", {1024}},
                   {"type", {kType}},
                   {peer_name, {peer}},
                   {"tag", {tag}},
                   {"comm", {kWorld}},
                   {"request", {kFirstRequest + request}}});
  };
  for (std::uint64_t k = 0; k < count; ++k) {
    message("MPI_Irecv", "source", left, 1, 0);
    message("MPI_Irecv", "source", right, 2, 1);
    message("MPI_Isend", "dest", right, 1, 2);
    message("MPI_Isend", "dest", left, 2, 3);
    to.call("MPI_Waitall",
            {{"count", {4}},
             {"requests", {kFirstRequest, kFirstRequest + 1, kFirstRequest + 2, kFirstRequest + 3}},
             {"statuses", {left, 1, right, 2, 0, 0, 0, 0}}});
  }
  to.access(AccessKind::kWrite, static_cast<std::int64_t>(rank) * 4096, 4096);
  to.barrier();
}

int run(std::string_view shape, std::uint64_t ranks, std::uint64_t count, const std::string& file) {
  OrderTrace trace(file, ranks);
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    trace.begin_rank(rank);
    if (shape == "barriers") {
      write_barriers(trace, rank, ranks, count);
    } else if (shape == "pairs") {
      write_pairs(trace, rank, count);
    } else {
      write_halo(trace, rank, ranks, count);
    }
  }
  return trace.finish();
}

}  // namespace
}  // namespace iotune::recorder

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "make_order_trace barriers|pairs|halo RANKS COUNT FILE\n");
    return 2;
  }
  return iotune::recorder::run(argv[1], std::strtoull(argv[2], nullptr, 10),
                               std::strtoull(argv[3], nullptr, 10), argv[4]);
}
