#include "tuner/posix/program_open.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>

#include "analyzer/summary/masked_name.h"
#include "core/os/mapped_file.h"
#include "core/os/raw_syscall.h"
#include "core/run/presence.h"
#include "patterndb/decide/decision.h"
#include "recorder/hooks/decisions.h"
#include "tuner/decision/agreement.h"
#include "tuner/decision/database_library.h"
#include "tuner/decision/outcome_notes.h"
#include "tuner/posix/file_system.h"
#include "tuner/posix/posix_opens.h"
#include "tuner/posix/spare_memory.h"

namespace iotune::tuner {
namespace {

using recorder::OpenState;

struct OpenInProgress {
  const Decision* decision;  // in the answers, which stay
  SettingList wanted;
  PosixOpens opens;
};

constinit SpareMemory<OpenInProgress> g_spare;

// iotune_program_answer, one behind the other. Written once, in MPI_Init; only read from then on.
constinit const char* g_answers = nullptr;
constinit std::size_t g_answers_bytes = 0;
// Of the path that was written down last: who opens a file again and again is reported once.
constinit std::uint64_t g_noted = 0;

// The program's open has not been made yet, and one that succeeds leaves errno alone.
class KeptErrno {
 public:
  KeptErrno() noexcept : kept_(errno) {}
  ~KeptErrno() { errno = kept_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  int kept_;
};

// A signal handler on a stack of its own, which may be too small for paths.
bool on_small_stack() noexcept {
  constexpr std::size_t kLeastBytes = 64 << 10;
  stack_t stack{};
  return raw::call(SYS_sigaltstack, 0, raw::word(&stack)) == 0 &&
         (stack.ss_flags & SS_ONSTACK) != 0 && stack.ss_size < kLeastBytes;
}

bool is_for(const iotune_program_answer& answer, const char* path, bool creating) noexcept {
  if ((answer.creating != 0) != creating) return false;
  const char* const slash = std::strrchr(path, '/');
  const char* const base = slash == nullptr ? path : slash + 1;
  const char* const file = text_of(answer, answer.file);
  const bool whole = std::strchr(file, '/') != nullptr;
  const bool named = answer.masked != 0 ? analyzer::shared_numbers(file, base) >= 0
                                        : std::strcmp(file, whole ? path : base) == 0;
  if (!named || on_small_stack()) return false;
  const char* const system = text_of(answer, answer.filesystem);
  return system[0] == '\0' || std::strcmp(system, file_system_of(path)) == 0;
}

bool is_for_posix(const char* name) noexcept {
  return is_placement(name) || is_posix_advice(name);
}

// The first answer for the file: a configuration's come before a database's.
OpenInProgress* answer_for(const char* path, bool creating) noexcept {
  for (std::size_t at = 0; at < g_answers_bytes;) {
    const auto& answer = *reinterpret_cast<const iotune_program_answer*>(g_answers + at);
    at += answer.bytes;
    if (!is_for(answer, path, creating)) continue;
    OpenInProgress* const open = g_spare.take();
    if (open != nullptr) open->decision = &decision_of(answer);
    return open;
  }
  return nullptr;
}

}  // namespace

void learn_program_answers(const MpiApi& mpi) noexcept {
  if (!all_ranks_tune() || g_answers != nullptr) return;
  const Word world = mpi.constants.comm_world;
  auto* const text = static_cast<char*>(private_memory(IOTUNE_PROGRAM_ANSWERS_MAX_BYTES));
  std::uint64_t bytes = 0;
  if (rank_in(mpi, world) == 0 && text != nullptr) {
    bytes = ask_for_program(world_ranks(), run_nodes(), text, IOTUNE_PROGRAM_ANSWERS_MAX_BYTES);
  }
  bool whole = mpi.MPI_Bcast(&bytes, sizeof bytes, mpi.constants.byte, 0, world) == 0;
  const bool fits = text != nullptr && bytes <= IOTUNE_PROGRAM_ANSWERS_MAX_BYTES;
  // A rank without the memory takes part all the same.
  char piece[4096];
  for (std::uint64_t at = 0; whole && at < bytes; at += sizeof piece) {
    const std::uint64_t length = bytes - at < sizeof piece ? bytes - at : sizeof piece;
    if (fits) std::memcpy(piece, text + at, length);
    whole = mpi.MPI_Bcast(piece, static_cast<int>(length), mpi.constants.byte, 0, world) == 0;
    if (fits) std::memcpy(text + at, piece, length);
  }
  if (whole && bytes != 0 && fits && are_whole(text, bytes)) {
    g_answers_bytes = bytes;
    __atomic_store_n(&g_answers, text, __ATOMIC_RELEASE);
  } else if (text != nullptr) {
    unmap(text, IOTUNE_PROGRAM_ANSWERS_MAX_BYTES);
  }
}

void before_program_open(const char* path, int flags, OpenState& state) noexcept {
  if (__atomic_load_n(&g_answers, __ATOMIC_ACQUIRE) == nullptr) return;
  const KeptErrno kept;
  const bool creating = (flags & O_CREAT) != 0;
  OpenInProgress* const open = answer_for(path, creating);
  if (open == nullptr) return;
  clear(open->wanted);
  for (int i = 0; i < open->decision->setting_count; ++i) {
    const Setting setting = setting_of(*open->decision, i);
    if (is_for_posix(setting.name)) add(open->wanted, setting);
  }
  arm(path, {creating, (flags & O_TRUNC) != 0, true}, *open->decision, open->wanted, open->opens);
  state.words[0] = reinterpret_cast<std::uint64_t>(open);
}

void after_program_open(const char* path, OpenState& state) noexcept {
  auto* const open = reinterpret_cast<OpenInProgress*>(state.words[0]);
  if (open == nullptr) return;
  disarm(open->opens);
  const std::uint64_t name = hash_text(kHashStart, path);
  if (__atomic_exchange_n(&g_noted, name, __ATOMIC_RELAXED) == name) {
    g_spare.give_back(open);
    return;
  }
  note_decision(path, *open->decision);
  finish_and_note(open->opens, open->wanted);
  for (int i = 0; i < open->decision->setting_count; ++i) {
    const Setting setting = setting_of(*open->decision, i);
    if (is_for_posix(setting.name)) continue;
    note_setting(path, setting.name, setting.value, "", Verdict::kRefused, {Reason::kPosixAlone});
  }
  g_spare.give_back(open);
}

}  // namespace iotune::tuner
