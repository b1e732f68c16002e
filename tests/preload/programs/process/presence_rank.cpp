// One rank's part in settling whether all are loaded, step by step, with the preload's own objects
// linked in. Usage: presence_rank [HOST], on a fake node of that name (wants root). Reads a step a
// line, and answers each by a line:
//   register          done
//   settle SIZE       all loaded (0, 1), all tune, nodes
//   full              from now on nothing gets a new name, as on a full disk: ENOSPC; done, or
//                     none where the kernel has no filters
//   limit             no file may grow from now on; done
//   remove            done
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/os/raw_syscall.h"
#include "core/run/presence.h"

namespace {

// All that may make a name fails; openat with O_CREAT too. To remove names goes on.
bool fill_disk() {
  const unsigned fails = SECCOMP_RET_ERRNO | ENOSPC, goes = SECCOMP_RET_ALLOW;
  constexpr unsigned kNumber = offsetof(seccomp_data, nr);
  constexpr unsigned kFlags = offsetof(seccomp_data, args) + 2 * sizeof(__u64);  // low half
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_symlinkat, 7, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_linkat, 6, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mkdirat, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFlags),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0100, 1, 0),  // O_CREAT
      BPF_STMT(BPF_RET | BPF_K, goes),
      BPF_STMT(BPF_RET | BPF_K, fails),
  };
  const sock_fprog program{sizeof code / sizeof code[0], code};
  // Unseen by the preload's objects, for which a filter is no full disk (privilege_drop.h).
  using namespace iotune;
  return raw::call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1) == 0 &&
         raw::call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, raw::word(&program)) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace iotune;
  if (argc > 1 && (unshare(CLONE_NEWUTS) != 0 || sethostname(argv[1], std::strlen(argv[1])) != 0)) {
    std::perror("presence_rank");
    return 1;
  }
  char line[64];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    line[std::strcspn(line, "\n")] = '\0';
    int size = 0;
    if (std::sscanf(line, "settle %d", &size) == 1) {
      settle_presence(size);
      std::printf("%d %d %d\n", all_ranks_loaded() ? 1 : 0, all_ranks_tune() ? 1 : 0, run_nodes());
    } else if (std::strcmp(line, "full") == 0) {
      std::puts(fill_disk() ? "done" : "none");
    } else if (std::strcmp(line, "limit") == 0) {
      // Unseen as well: a process that limits itself says nothing any more.
      const rlimit none{0, 0};
      if (raw::call(SYS_prlimit64, 0, RLIMIT_FSIZE, raw::word(&none), 0) != 0) return 2;
      std::puts("done");
    } else if (std::strcmp(line, "register") == 0) {
      register_presence();
      std::puts("done");
    } else if (std::strcmp(line, "remove") == 0) {
      remove_presence_files();
      std::puts("done");
    } else {
      return 2;
    }
    std::fflush(stdout);
  }
  return 0;
}
