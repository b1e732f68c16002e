// Opens with settings on ranks that are threads here: whatever goes wrong on which of them, all
// make the same votes, builds and calls, in the same order. Each such step is collective; a rank
// that stays away from one would hang the others.
#include "tuner/opens/collective_open.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../drawn_cases.h"
#include "packed_decision.h"
#include "tuner/decision/file_plan.h"
#include "tuner/decision/program_settings.h"
#include "tuner/mpiio/openmpi_io.h"

namespace iotune {
namespace {

// Where the ranks meet. A step that not all of them make is a fault, and ends all waiting.
class Meeting {
 public:
  explicit Meeting(int ranks) : there_(ranks), steps_(static_cast<std::size_t>(ranks)) {}

  // What all ranks brought, by rank; empty after a fault.
  std::vector<std::string> meet(int rank, const std::string& step, const std::string& brought) {
    std::unique_lock lock(mutex_);
    steps_[static_cast<std::size_t>(rank)] += step + ' ';
    if (arrived_ == 0) {
      step_ = step;
      brought_.assign(steps_.size(), "");
    }
    if (step != step_) fault_ = step + " meets " + step_;
    brought_[static_cast<std::size_t>(rank)] = brought;
    const std::uint64_t round = round_;
    if (++arrived_ == there_) {
      arrived_ = 0;
      ++round_;
      all_ = brought_;
      changed_.notify_all();
    } else if (there_ < static_cast<int>(steps_.size())) {
      fault_ = "a rank has gone before " + step;
    }
    changed_.wait(lock, [&] { return round_ != round || !fault_.empty(); });
    if (!fault_.empty()) changed_.notify_all();
    return fault_.empty() ? all_ : std::vector<std::string>{};
  }

  void leave() {
    const std::lock_guard lock(mutex_);
    --there_;
    if (arrived_ != 0 && fault_.empty()) fault_ = "a rank stays away from " + step_;
    changed_.notify_all();
  }

  const std::string& fault() const { return fault_; }
  const std::vector<std::string>& steps() const { return steps_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int there_, arrived_ = 0;
  std::uint64_t round_ = 0;
  std::string step_, fault_;
  std::vector<std::string> brought_, all_, steps_;
};

constexpr int kMaxRanks = 4, kMostSettings = 3;

// What is drawn of one rank.
struct Fate {
  bool able = true, plans = true, differs = false, seen = true, may_close = true;
  bool own_call_fails = false, hopeless = false;
  unsigned fails_of = 0;      // settings with which the call fails here, by bit
  int build_that_fails = -1;  // counted from 0
};

struct Case {
  int ranks = 1, settings = 0;
  bool decision = true, must_be_new = false, nothing_to_change = false;
  Fate fates[kMaxRanks];
};

Case case_of(int ranks, int settings) {
  Case drawn;
  drawn.ranks = ranks;
  drawn.settings = settings;
  return drawn;
}

struct Rank {
  int number = 0;
  const Case* drawn = nullptr;
  Meeting* meeting = nullptr;
  int builds = 0, calls = 0, built = 0, open_files = 0;
  std::string carried;  // in the last call: settings, or "own"
  bool watched = false, hidden = false, armed = false;

  const Fate& fate() const { return drawn->fates[number]; }
  std::vector<std::string> meet(const std::string& step, const std::string& brought = "") const {
    return meeting->meet(number, step, brought);
  }
};
thread_local Rank* t_rank = nullptr;

}  // namespace

// The library around, as far as it is asked.
int world_ranks() noexcept {
  return t_rank->drawn->ranks;
}
int run_nodes() noexcept {
  return 1;
}
bool all_ranks_tune() noexcept {
  return true;
}
int common_thread_level(MpiAbi, int level) noexcept {
  return level;
}
bool is_inside_world(const MpiApi&, Word) noexcept {
  return true;
}
Word split_quietly(const MpiApi&, Word comm) noexcept {
  return comm;
}

namespace recorder {
bool path_is_traced(const char*) noexcept {
  return true;
}
bool buffer_exists() noexcept {
  return t_rank->fate().seen;
}
}  // namespace recorder

namespace tuner {

void forget_communicator(Word) noexcept {}
void forget_plan_communicator(Word) noexcept {}
unsigned own_parameters(const MpiApi&) noexcept {
  return 0;
}
const char* name_of_openmpi_io(const char*) noexcept {
  return nullptr;
}
bool nothing_can_be_asked() noexcept {
  return false;
}
bool ask_database(const FileQuestion&, iotune_answer& answer) noexcept {
  clear(answer.decision);
  if (!t_rank->drawn->decision) return false;
  static constexpr const char* kNames[kMostSettings] = {"cb_buffer_size", "cb_nodes",
                                                        "romio_cb_write"};
  static constexpr const char* kValues[kMostSettings] = {"65536", "1", "enable"};
  patterndb::Decision decision = decision_with({});
  for (int i = 0; i < t_rank->drawn->settings; ++i) {
    decision.of_variables.push_back({"", kNames[i], kValues[i]});
  }
  decision.source = IOTUNE_SOURCE_EXACT;
  const std::string packed = patterndb::packed(decision);
  std::memcpy(&answer, packed.data(), packed.size());
  return true;
}
void clear(HintPlan& plan) noexcept {
  clear(plan.wanted);
}
void plan_hints(const MpiApi&, const char*, Word, const Decision&, OpenedFrom, HintPlan&) noexcept {
}
void add_hints(const Decision& decision, const HintPlan&, CallAttempts& attempts) noexcept {
  for (int i = 0; i < decision.setting_count; ++i) add_candidate(attempts, i);
}
void leave_out_hints(const Decision&, const CallAttempts&, HintPlan&) noexcept {}
void clear(PosixOpens&) noexcept {}
void arm(const char*, FileMaking, const Decision&, const SettingList&, PosixOpens&) noexcept {
  t_rank->armed = true;
}
void disarm(const PosixOpens&) noexcept {
  t_rank->armed = false;
}
bool is_there(const char*) noexcept {
  return !t_rank->fate().hopeless;
}
void watch(const char*, MadeFile&) noexcept {
  t_rank->watched = true;
}
void unwatch() noexcept {
  t_rank->watched = false;
}
bool remove_made(MadeFile&) noexcept {
  return !t_rank->fate().hopeless;
}
void hide_file_errors(const MpiApi&, HiddenFileErrors&) noexcept {
  t_rank->hidden = true;
}
void show_file_errors(const MpiApi&, HiddenFileErrors&) noexcept {
  t_rank->hidden = false;
}

namespace {

MpiApi fake_mpi() {
  MpiApi mpi{};
  mpi.abi = MpiAbi::kMpich;
  mpi.constants.known = true;
  mpi.constants.handle_mask = ~Word{0};
  mpi.MPI_Comm_rank = [](Word, int* rank) {
    *rank = t_rank->number;
    return 0;
  };
  mpi.MPI_Comm_size = [](Word, int* size) {
    *size = t_rank->drawn->ranks;
    return 0;
  };
  mpi.MPI_Bcast = [](void* bytes, int count, Word, int root, Word) {
    const auto length = static_cast<std::size_t>(count);
    const auto all = t_rank->meet("broadcast", {static_cast<const char*>(bytes), length});
    if (all.empty()) return 1;
    std::memcpy(bytes, all[static_cast<std::size_t>(root)].data(), length);
    return 0;
  };
  mpi.MPI_Allreduce = [](const void* mine, void* least, int, Word, Word, Word) {
    constexpr std::size_t kNumbers = 3;
    const auto all =
        t_rank->meet("vote", {static_cast<const char*>(mine), kNumbers * sizeof(std::int64_t)});
    if (all.empty()) return 1;
    auto* const to = static_cast<std::int64_t*>(least);
    std::memcpy(to, all[0].data(), kNumbers * sizeof *to);
    for (const std::string& one : all) {
      std::int64_t numbers[kNumbers];
      std::memcpy(numbers, one.data(), sizeof numbers);
      for (std::size_t i = 0; i < kNumbers; ++i) to[i] = std::min(to[i], numbers[i]);
    }
    return 0;
  };
  return mpi;
}
const MpiApi kMpi = fake_mpi();

std::string carried_by(const CollectiveOpen& open) {
  std::string text;
  for (int i = 0; i < open.answer.decision.setting_count; ++i) {
    if (!is_left_out(open.attempts, i)) text += static_cast<char>('0' + i);
  }
  return text;
}

// As HDF5's: to build is collective.
constexpr OpenKind kKind = {
    .layer = "hdf5",
    .plan =
        [](CollectiveOpen&, std::uint64_t& hash) {
          if (!t_rank->drawn->nothing_to_change) hash = hash_text(hash, "settings");
          if (t_rank->fate().differs) hash = hash_text(hash, "others");
          return t_rank->fate().plans;
        },
    .add_candidates =
        [](CollectiveOpen& open) {
          if (open.mpi == nullptr) add_hints(open.answer.decision, open.hints, open.attempts);
        },
    .build =
        [](CollectiveOpen& open) {
          t_rank->meet("build:" + carried_by(open));
          if (t_rank->builds++ == t_rank->fate().build_that_fails) return false;
          ++t_rank->built;
          return true;
        },
    .discard = [](CollectiveOpen&) { t_rank->built = 0; },
    .keep_words_of = [](CollectiveOpen& open,
                        const OpenOutcome&) { keep_words(open.attempts, "it failed"); },
    .may_close = [](const CollectiveOpen&) { return t_rank->fate().may_close; },
    .close = [](CollectiveOpen&, Word) { --t_rank->open_files; },
};

// The real call, with what it carries.
bool call(const std::string& carried) {
  Rank& rank = *t_rank;
  rank.meet("call:" + carried);
  ++rank.calls;
  rank.carried = carried;
  bool fails = rank.fate().own_call_fails;
  for (const char setting : carried) {
    if (setting >= '0' && setting <= '9')
      fails |= (rank.fate().fails_of >> (setting - '0') & 1) != 0;
  }
  if (!fails) ++rank.open_files;
  return !fails;
}

SpareMemory<CollectiveOpen> g_spare;

void open_on(Rank& rank, const MpiApi* mpi) {
  t_rank = &rank;
  CollectiveOpen* open = take_part(g_spare, mpi, 1, rank.fate().able);
  bool decided = false;
  if (open != nullptr) {
    open->kind = &kKind;
    open->mpi = mpi;
    open->comm = 1;
    open->path = "/tmp/f";
    open->must_be_new = rank.drawn->must_be_new;
    decided = decide_open(*open, false);
  }
  bool again = false;
  do {
    const bool carries = decided && open->carries;
    EXPECT_EQ(rank.built, carries ? 1 : 0);
    EXPECT_EQ(rank.watched, carries);
    const bool good = call(carries ? carried_by(*open) : "own");
    again = decided && repeat_open(*open, {!good, 7, 0});
  } while (again);
  if (decided && rank.carried == "own") {
    EXPECT_FALSE(rank.watched || rank.hidden);
  }
  if (open != nullptr) g_spare.give_back(open);
  rank.meeting->leave();
}

std::vector<Rank> opened(const Case& drawn, bool alone = false) {
  Meeting meeting(drawn.ranks);
  std::vector<Rank> ranks(static_cast<std::size_t>(drawn.ranks));
  std::vector<std::thread> threads;
  for (int i = 0; i < drawn.ranks; ++i) {
    Rank& rank = ranks[static_cast<std::size_t>(i)];
    rank.number = i;
    rank.drawn = &drawn;
    rank.meeting = &meeting;
    threads.emplace_back(open_on, std::ref(rank), alone ? nullptr : &kMpi);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(meeting.fault(), "");
  for (const std::string& steps : meeting.steps()) EXPECT_EQ(steps, meeting.steps()[0]);
  for (const Rank& rank : ranks) EXPECT_LE(rank.open_files, 1);
  return ranks;
}

Case drawn_case(std::mt19937_64& random) {
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  const auto rarely = [&] { return below(12) == 0; };
  Case drawn;
  drawn.ranks = 1 + below(kMaxRanks);
  drawn.settings = below(kMostSettings + 1);
  drawn.decision = !rarely();
  drawn.must_be_new = below(3) == 0;
  drawn.nothing_to_change = rarely();
  for (Fate& fate : drawn.fates) {
    fate.able = !rarely();
    fate.plans = !rarely();
    fate.differs = rarely();
    fate.seen = !rarely();
    fate.may_close = !rarely();
    fate.hopeless = rarely();
    fate.own_call_fails = rarely();
    if (below(3) == 0) fate.fails_of = static_cast<unsigned>(below(1 << kMostSettings));
    if (below(4) == 0) fate.build_that_fails = below(3);
  }
  return drawn;
}

TEST(CollectiveOpen, WhateverFailsAllRanksTakeTheSameSteps) {
  std::set<std::string> outcomes;
  for (std::uint64_t seed = 0; seed < testing::drawn_cases(12000); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    for (const Rank& rank : opened(drawn_case(random))) outcomes.insert(rank.carried);
    if (HasFailure()) return;
  }
  // The cases reach both ends, and calls without one setting of several.
  for (const char* carried : {"own", "0", "01", "012", "12", "02"}) {
    EXPECT_EQ(outcomes.count(carried), 1u) << carried;
  }
}

TEST(CollectiveOpen, OnlyTheSettingThatFailsIsLeftOut) {
  for (int bad = 0; bad < kMostSettings; ++bad) {
    for (int on = 0; on < 3; ++on) {
      Case drawn = case_of(3, kMostSettings);
      drawn.fates[on].fails_of = 1u << bad;
      std::string others = "012";
      others.erase(static_cast<std::size_t>(bad), 1);
      for (const Rank& rank : opened(drawn)) {
        EXPECT_EQ(rank.carried, others);
        EXPECT_EQ(rank.calls, 2 + bad);
        EXPECT_EQ(rank.open_files, 1);
      }
    }
  }
}

TEST(CollectiveOpen, ARankThatDeclinesKeepsSettingsOutOfAllCalls) {
  for (const auto decline_of : {&Fate::able, &Fate::plans}) {
    for (int on = 0; on < 3; ++on) {
      Case drawn = case_of(3, 2);
      drawn.fates[on].*decline_of = false;
      for (const Rank& rank : opened(drawn)) {
        EXPECT_EQ(rank.carried, "own");
        EXPECT_EQ(rank.calls, 1);
      }
    }
  }
}

// Closing it there would remove it, and the next call makes another.
TEST(CollectiveOpen, AFileThatMayNotBeClosedEndsTheAttempts) {
  Case drawn = case_of(2, 2);
  drawn.fates[0].fails_of = 1;
  drawn.fates[1].may_close = false;
  const std::vector<Rank> ranks = opened(drawn);
  EXPECT_EQ(ranks[0].calls, 1);
  EXPECT_EQ(ranks[1].open_files, 1);
}

TEST(CollectiveOpen, AProcessAloneSendsNothing) {
  Case drawn = case_of(1, 2);
  drawn.fates[0].fails_of = 2;
  const std::vector<Rank> ranks = opened(drawn, true);
  EXPECT_EQ(ranks[0].carried, "0");
}

}  // namespace
}  // namespace tuner
}  // namespace iotune
