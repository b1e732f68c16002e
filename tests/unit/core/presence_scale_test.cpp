// What MPI_Init asks of the home at a site's scale: every rank of a thousand nodes takes its steps
// in this process, one after the other, and the calls on paths of the shared folder are counted.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/run/presence.cpp"

namespace {

struct Site {
  std::string shared, local, host;
  iotune::Configuration configuration;
  long rank = 0, node = 0;
  long silent_node = -1;  // its home does not answer
  std::map<long, long> calls_of_node;
  std::map<long, std::set<long>> calling_ranks;
  std::vector<std::string> said;
};
Site g_site;

bool is_shared(long path) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a system call's argument
  return std::string(reinterpret_cast<const char*>(path)).rfind(g_site.shared, 0) == 0;
}

// A listing counts once, where its folder is opened.
bool asks_shared_folder(long number, long a, long b, long c, long d) {
  switch (number) {
    case SYS_openat:
    case SYS_mkdirat:
    case SYS_unlinkat:
    case SYS_readlinkat:
    case SYS_faccessat:
    case SYS_newfstatat:
      return is_shared(b);
    case SYS_symlinkat:
      return is_shared(c);
    case SYS_renameat2:
    case SYS_linkat:
      return is_shared(b) || is_shared(d);
    case SYS_read:
    case SYS_close:
    case SYS_flock:
    case SYS_getdents64:
    case SYS_getpid:
    case SYS_prlimit64:
    case SYS_pwrite64:
      return false;
    default:
      ADD_FAILURE() << "system call " << number << ": does it ask a folder?";
      return a != 0;
  }
}

}  // namespace

namespace iotune {

long raw::call(long number, long a, long b, long c, long d, long e, long f) noexcept {
  if (asks_shared_folder(number, a, b, c, d)) {
    ++g_site.calls_of_node[g_site.node];
    g_site.calling_ranks[g_site.node].insert(g_site.rank);
  }
  return kernel_call(number, a, b, c, d, e, f);
}

const char* run_directory() noexcept {
  return g_site.local.c_str();
}
const char* run_id() noexcept {
  return "run";
}
bool run_id_is_global() noexcept {
  return true;
}
const char* host_name() noexcept {
  return g_site.host.c_str();
}
const Configuration& configuration() noexcept {
  return g_site.configuration;
}
void say_on_any_rank(const char* text) noexcept {
  g_site.said.emplace_back(text);
}

LeftProcess::LeftProcess(Work, const void*, int) noexcept {}
LeftProcess::~LeftProcess() {}
void LeftProcess::wait_for_end() noexcept {}
bool place_answers(const char*) noexcept {
  return g_site.node != g_site.silent_node;
}
SaysWhereItWaits::SaysWhereItWaits(const char*) noexcept : process_(nullptr, nullptr) {}

namespace {

class Presence : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/dev/shm/iotune-presence-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    top_ = name;
    g_site = {};
    g_site.shared = top_ + "/home";
    std::filesystem::create_directory(g_site.shared);
    g_site.configuration.state_home = g_site.shared.c_str();
  }
  void TearDown() override { std::filesystem::remove_all(top_); }

  // Ranks of the job in the order in which they come, of which `missing` is not loaded.
  void start(long nodes, long ranks_a_node, long missing = -1) {
    ranks_a_node_ = ranks_a_node;
    setenv("MPI_LOCALNRANKS", std::to_string(ranks_a_node).c_str(), 1);
    setenv("PMI_SIZE", std::to_string(nodes * ranks_a_node).c_str(), 1);
    for (long node = 0; node < nodes; ++node) {
      std::filesystem::create_directories(top_ + "/local/" + std::to_string(node));
    }
    own_.assign(static_cast<std::size_t>(nodes * ranks_a_node), Own{});
    order_.resize(own_.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::erase(order_, missing);
    shuffle();
  }
  void shuffle() { std::shuffle(order_.begin(), order_.end(), draw_); }

  template <typename Step>
  void for_each_rank(Step step) {
    for (const long rank : order_) {
      g_site.rank = rank;
      g_site.node = rank / ranks_a_node_;
      g_site.host = "node" + std::to_string(g_site.node);
      g_site.local = top_ + "/local/" + std::to_string(g_site.node);
      g_own = own_[static_cast<std::size_t>(rank)];
      step();
      own_[static_cast<std::size_t>(rank)] = g_own;
    }
  }
  // All keep files as logs but one.
  void register_all(long ordinary = -1) {
    for_each_rank([&] {
      if (g_site.rank != ordinary) announce_service(JointService::kLogs);
      register_presence();
    });
    shuffle();
  }
  long yes() {
    long count = 0;
    for_each_rank([&] { count += settle_presence(static_cast<int>(own_.size())) ? 1 : 0; });
    return count;
  }
  static void expect_few_calls() {
    for (const auto& [node, calls] : g_site.calls_of_node) EXPECT_LE(calls, 10) << node;
    // The one that fills the node, and the one that comes first out of MPI_Init.
    for (const auto& [node, ranks] : g_site.calling_ranks) EXPECT_LE(ranks.size(), 2u) << node;
  }

  std::string top_;
  long ranks_a_node_ = 0;
  std::vector<Own> own_;
  std::vector<long> order_;
  std::mt19937 draw_{52};
};

TEST_F(Presence, AThousandNodesAskTheHomeOnceANode) {
  start(1000, 64);
  register_all();
  EXPECT_EQ(yes(), 64000);
  EXPECT_TRUE(g_site.said.empty());
  EXPECT_EQ(g_site.calls_of_node.size(), 1000u);
  expect_few_calls();
  for (const Own& own : own_) {
    ASSERT_EQ(own.node.nodes, 1000u);
    ASSERT_TRUE(own.all.log);
  }
  for_each_rank([] { remove_presence_files(); });
  EXPECT_TRUE(std::filesystem::is_empty(g_site.shared + "/iotune/runs"));
}

TEST_F(Presence, OneThatKeepsNoLogsIsKnownToAll) {
  start(10, 4);
  register_all(7);
  EXPECT_EQ(yes(), 40);
  for (const Own& own : own_) EXPECT_FALSE(own.all.log);
  EXPECT_TRUE(g_site.said.empty());
}

TEST_F(Presence, NorDoTheyAskMoreWhereARankIsMissing) {
  start(100, 8, 333);
  register_all();
  EXPECT_EQ(yes(), 0);
  ASSERT_EQ(g_site.said.size(), 1u);
  EXPECT_NE(g_site.said[0].find("of 800 ranks"), std::string::npos) << g_site.said[0];
  expect_few_calls();
}

TEST_F(Presence, WhereEveryNodeMissesOneThatIsSaidOnce) {
  start(100, 8);
  std::erase_if(order_, [](long rank) { return rank % 8 == 3; });
  register_all();
  EXPECT_EQ(yes(), 0);
  EXPECT_EQ(g_site.said.size(), 1u);
  expect_few_calls();
}

TEST_F(Presence, ANodeWhoseHomeDoesNotAnswerPublishesNothing) {
  g_site.silent_node = 3;
  start(10, 4);
  register_all();
  EXPECT_EQ(yes(), 0);
  EXPECT_EQ(g_site.calls_of_node.count(3), 0u);
  ASSERT_EQ(g_site.said.size(), 1u);
  EXPECT_NE(g_site.said[0].find("36 of 40 ranks"), std::string::npos) << g_site.said[0];
  expect_few_calls();
}

// Two nodes; the second one's last rank registers while ranks of the first have their answer.
TEST_F(Presence, OneThatPublishesLateHearsTheAnswerOfBefore) {
  start(2, 2);
  const std::vector<long> all = {0, 1, 2, 3};
  order_ = {0, 1, 2};
  for_each_rank([] { register_presence(); });
  order_ = {0};
  EXPECT_EQ(yes(), 0);
  order_ = {3};
  for_each_rank([] { register_presence(); });
  order_ = all;
  EXPECT_EQ(yes(), 0);
  EXPECT_EQ(g_site.said.size(), 1u);
}

TEST(LauncherRanks, ThatSlurmNamesByTheStepsNode) {
  unsetenv("MPI_LOCALNRANKS");
  unsetenv("PMI_SIZE");
  setenv("SLURM_PROCID", "5", 1);
  setenv("SLURM_STEP_TASKS_PER_NODE", "4(x2),3,16(x100)", 1);
  const std::uint64_t expected[] = {4, 4, 3, 16, 16};
  for (unsigned node = 0; node < 5; ++node) {
    setenv("SLURM_NODEID", std::to_string(node).c_str(), 1);
    EXPECT_EQ(ranks_on_this_node(), expected[node]) << node;
  }
  setenv("SLURM_NODEID", "103", 1);
  EXPECT_EQ(ranks_on_this_node(), 0u);
  unsetenv("SLURM_NODEID");
  EXPECT_EQ(ranks_on_this_node(), 0u);
}

}  // namespace
}  // namespace iotune
