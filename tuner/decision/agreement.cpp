#include "tuner/decision/agreement.h"

#include <climits>
#include <cstddef>
#include <cstring>

#include "core/run/presence.h"
#include "patterndb/decide/decision.h"
#include "recorder/hooks/decisions.h"
#include "tuner/decision/file_plan.h"
#include "tuner/decision/program_settings.h"
#include "tuner/mpiio/openmpi_io.h"

namespace iotune::tuner {
namespace {

constinit int g_keyval = 0;
constinit bool g_keyval_made = false;
constinit const MpiApi* g_mpi = nullptr;

// The number of further opens on the world's communicator that get no settings: rank 0 has answered
// all ranks, so that these opens need no message. Opens are collective, so all ranks count the same
// ones. They are counted, not named: in a faulty program each rank may open another file. Not used
// where threads may open files at the same time, by HDF5 on its own duplicate of the world and by
// MPI-IO on the world: ranks could see such opens in different orders.
constinit Word g_unasked_comm = 0;
constinit int g_unasked = 0;

// Also counts the open that it is called for.
bool is_unasked(Word comm) noexcept {
  const int left = __atomic_load_n(&g_unasked, __ATOMIC_RELAXED);
  if (left == 0 || comm != __atomic_load_n(&g_unasked_comm, __ATOMIC_RELAXED)) return false;
  __atomic_store_n(&g_unasked, left - 1, __ATOMIC_RELAXED);
  return true;
}

void forget_unasked(Word comm) noexcept {
  if (comm == __atomic_load_n(&g_unasked_comm, __ATOMIC_RELAXED)) {
    __atomic_store_n(&g_unasked, 0, __ATOMIC_RELAXED);
  }
}

// The program frees its communicator, and with it the private one. Runs inside MPI_Comm_free, which
// is collective.
int free_private(Word, int, void* value, void*) noexcept {
  Word comm = reinterpret_cast<Word>(value);
  // HDF5 keeps a duplicate of its own: property lists may outlive the communicator.
  forget_communicator(comm);
  forget_plan_communicator(comm);
  forget_unasked(comm);
  return g_mpi->MPI_Comm_free(&comm);
}

// A duplicate of the communicator gets a private one of its own. Not MPI_COMM_NULL_COPY_FN, which
// is NULL in one ABI and a function in another.
int copy_nothing(Word, int, void*, void*, void*, int* keep) noexcept {
  *keep = 0;
  return 0;
}

bool same(const MpiApi& mpi, Word a, Word b) noexcept {
  return ((a ^ b) & mpi.constants.handle_mask) == 0;
}

}  // namespace

bool make_keyval(const MpiApi& mpi) noexcept {
  if (g_keyval_made) return true;
  g_mpi = &mpi;
  g_keyval_made = mpi.MPI_Comm_create_keyval(copy_nothing, free_private, &g_keyval, nullptr) == 0;
  return g_keyval_made;
}

int rank_in(const MpiApi& mpi, Word comm) noexcept {
  int rank = -1;
  return mpi.MPI_Comm_rank(comm, &rank) == 0 ? rank : -1;
}

Word private_communicator(const MpiApi& mpi, Word comm) noexcept {
  const Word none = mpi.constants.comm_null;
  if (!mpi.constants.known || !all_ranks_tune() || same(mpi, comm, none)) return none;
  // No other rank receives messages there, so it needs no private communicator. If threads made one
  // at the same time, the later would free that of the earlier.
  if (same(mpi, comm, mpi.constants.comm_self)) return comm;
  if (!g_keyval_made) return none;
  void* value = nullptr;
  int found = 0;
  if (mpi.MPI_Comm_get_attr(comm, g_keyval, &value, &found) == 0 && found != 0) {
    return reinterpret_cast<Word>(value);
  }
  if (!is_inside_world(mpi, comm)) return none;
  Word made = split_quietly(mpi, comm);
  if (made == none) return none;
  if (mpi.MPI_Comm_set_attr(comm, g_keyval, reinterpret_cast<void*>(made)) != 0) {
    mpi.MPI_Comm_free(&made);
    return none;
  }
  return made;
}

void free_world_communicator(const MpiApi& mpi) noexcept {
  if (!g_keyval_made) return;
  void* value = nullptr;
  int found = 0;
  const Word world = mpi.constants.comm_world;
  if (mpi.MPI_Comm_get_attr(world, g_keyval, &value, &found) == 0 && found != 0) {
    mpi.MPI_Comm_delete_attr(world, g_keyval);
  }
}

void ask_as_run(int opening_ranks, FileQuestion& question) noexcept {
  const int world = world_ranks();
  question.ranks = world > opening_ranks ? world : opening_ranks;
  if (opening_ranks == 1 && question.ranks > 1 && std::strcmp(question.layer, "hdf5") == 0) {
    question.layer = "hdf5-self";
  }
}

namespace {

bool threads_may_open_at_once(const MpiApi& mpi) noexcept {
  constexpr int kMultiple = 3;
  int level = kMultiple;
  return mpi.MPI_Query_thread(&level) != 0 || common_thread_level(mpi.abi, level) >= kMultiple;
}

// The count is kept for the world alone, whose opens every rank takes part in; for other
// communicators it would need one count each.
bool is_of_world(const MpiApi& mpi, Word comm) noexcept {
  void* value = nullptr;
  int found = 0;
  return g_keyval_made &&
         mpi.MPI_Comm_get_attr(mpi.constants.comm_world, g_keyval, &value, &found) == 0 &&
         found != 0 && reinterpret_cast<Word>(value) == comm;
}

// Rank 0 sends so many bytes of its packed decision at first: most files have no decision and most
// decisions are short, so that one message is enough.
constexpr std::size_t kFirstBytes = 512;

// What follows is sent in pieces of so many bytes.
constexpr std::size_t kPieceBytes = 4096;

// By these a rank knows which messages and votes follow, also of a decision that it cannot read:
// they lie there in every version.
static_assert(offsetof(Decision, bytes) == 4 && offsetof(Decision, unasked_opens) == 28 &&
              offsetof(Decision, setting_count) == 32 && sizeof(Decision::bytes) == 4 &&
              sizeof(Decision::unasked_opens) == 4 && sizeof(Decision::setting_count) == 2);

// Whether all ranks vote on it.
bool is_voted_on(const Decision& decision) noexcept {
  return decision.bytes != 0 && decision.setting_count > 0;
}

// Gives every rank the packed decision of rank 0, also where it is none. Every rank takes part in
// all messages, whatever it makes of them. False: MPI has failed.
bool share(const MpiApi& mpi, Word comm, bool sends, iotune_answer& answer) noexcept {
  Decision& decision = answer.decision;
  char* const packed = answer.message;
  const std::size_t used = decision.bytes == 0 ? sizeof decision : decision.bytes;
  if (sends && used < kFirstBytes) std::memset(packed + used, 0, kFirstBytes - used);
  if (mpi.MPI_Bcast(packed, kFirstBytes, mpi.constants.byte, 0, comm) != 0) return false;
  if (decision.unasked_opens > 0 && is_of_world(mpi, comm)) {
    __atomic_store_n(&g_unasked_comm, comm, __ATOMIC_RELAXED);
    __atomic_store_n(&g_unasked, static_cast<int>(decision.unasked_opens), __ATOMIC_RELAXED);
  }
  for (std::size_t at = kFirstBytes; at < decision.bytes; at += kPieceBytes) {
    char elsewhere[kPieceBytes];
    const std::size_t left = decision.bytes - at;
    const std::size_t length = left < kPieceBytes ? left : kPieceBytes;
    char* const piece = at + length <= sizeof answer ? packed + at : elsewhere;
    const int sent = static_cast<int>(length);
    if (mpi.MPI_Bcast(piece, sent, mpi.constants.byte, 0, comm) != 0) return false;
  }
  return true;
}

// A rank that has no part in a decision votes for changing nothing.
void vote_no(const MpiApi& mpi, Word comm, const Decision& decision) noexcept {
  if (is_voted_on(decision)) all_agree(mpi, comm, false, 0);
}

}  // namespace

void decline(const MpiApi& mpi, Word comm) noexcept {
  if (is_unasked(comm)) return;
  iotune_answer answer;
  clear(answer.decision);
  const bool sends = rank_in(mpi, comm) == 0;
  if (share(mpi, comm, sends, answer)) vote_no(mpi, comm, answer.decision);
}

bool receive_decision(const MpiApi& mpi, Word comm, FileQuestion question,
                      iotune_answer& answer) noexcept {
  Decision& decision = answer.decision;
  question.known_only = is_unasked(comm);
  const bool asks = rank_in(mpi, comm) == 0;
  if (asks) {
    int here = 1;
    mpi.MPI_Comm_size(comm, &here);
    ask_as_run(here, question);
    question.nodes = run_nodes();
    question.mpi = mpi.version;
    if (mpi.abi == MpiAbi::kOpenMpi) question.mpi_io = name_of_openmpi_io;
    ask_database(question, answer);
    // Parameters of Open MPI may have made these settings before; to ask for them takes long.
    if (mpi.abi == MpiAbi::kOpenMpi &&
        (names_settings(decision, "cb_") || names_settings(decision, "striping_"))) {
      decision.own_parameters = own_parameters(mpi);
    }
  } else {
    clear(decision);
  }
  if (question.known_only) {
    if (decision.setting_count > 0) clear(decision);
    return true;
  }
  if (asks) {
    if (decision.bytes == 0 && nothing_can_be_asked()) decision.unasked_opens = INT_MAX;
    if (decision.unasked_opens > 0 && threads_may_open_at_once(mpi)) decision.unasked_opens = 0;
  }
  if (!share(mpi, comm, asks, answer)) return false;
  if (decision.bytes == 0) return false;
  if (asks || is_whole(decision, sizeof answer)) return true;
  vote_no(mpi, comm, decision);
  return false;
}

bool all_agree(const MpiApi& mpi, Word comm, bool willing, std::uint64_t hash) noexcept {
  // The minima of h and of ~h over all ranks are complements of each other only if all h are equal.
  const auto signed_hash = static_cast<std::int64_t>(hash);
  const std::int64_t mine[3] = {signed_hash, ~signed_hash, willing ? 1 : 0};
  std::int64_t least[3] = {};
  if (mpi.MPI_Allreduce(mine, least, 3, mpi.constants.int64, mpi.constants.op_min, comm) != 0) {
    return false;
  }
  return least[2] == 1 && least[0] == ~least[1];
}

}  // namespace iotune::tuner
