/* order_calls PART: blocking calls between two ranks (order_say.h). Part `where` also says which
 * library the next call of each function would go to; part `files` also writes data.bin, between
 * kSelf messages to itself; part `waits` writes it by requests. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>

#include "order_say.h"

#if defined(__x86_64__)
enum { kJumpSlot = R_X86_64_JUMP_SLOT };
#else
enum { kJumpSlot = R_AARCH64_JUMP_SLOT };
#endif
enum { kSelf = 300000, kWrites = 8 };

typedef int (*Sends)(const void*, int, MPI_Datatype, int, int, MPI_Comm);

static void send_by(Sends sends, const char* name, int dest, int tag) {
  const int done = sends(&g_rank, 1, MPI_INT, dest, tag, MPI_COMM_WORLD);
  SAY(name, 1, of_rank(dest), of_tag(tag), of_comm(MPI_COMM_WORLD), done);
}

static void send_to(int dest, int tag) {
  const int done = MPI_Send(&g_rank, 1, MPI_INT, dest, tag, MPI_COMM_WORLD);
  SAY("MPI_Send", 1, of_rank(dest), of_tag(tag), of_comm(MPI_COMM_WORLD), done);
}

/* `real_source`, `real_tag`: what will come. */
static void receive(int source, int tag, int ignores, int real_source, int real_tag) {
  MPI_Status own, *const status = ignores ? MPI_STATUS_IGNORE : &own;
  int value = -1;
  const int done = MPI_Recv(&value, 1, MPI_INT, source, tag, MPI_COMM_WORLD, status);
  check_status(status, real_source, real_tag);
  demand(real_source == MPI_PROC_NULL || value == real_source, "another message");
  SAY("MPI_Recv", 1, of_rank(source), of_tag(tag), of_comm(MPI_COMM_WORLD), done,
      of_rank(real_source), of_tag(real_tag));
}

static void blocking(int ignores) {
  if (g_rank == 0) {
    send_to(1, kTag);
    send_to(1, kTag + 1);
    receive(MPI_ANY_SOURCE, kTag, ignores, 1, kTag);
    receive(1, MPI_ANY_TAG, ignores, 1, kTag + 2);
  } else {
    receive(MPI_ANY_SOURCE, MPI_ANY_TAG, ignores, 0, kTag);
    receive(0, kTag + 1, ignores, 0, kTag + 1);
    send_to(0, kTag);
    send_to(0, kTag + 2);
  }
  receive(MPI_PROC_NULL, kTag, ignores, MPI_PROC_NULL, MPI_ANY_TAG);
  send_to(MPI_PROC_NULL, kTag);
  barrier(MPI_COMM_WORLD);
  barrier(MPI_COMM_SELF);
}

/* By turns: who receives has posted it where the send is a ready one. */
static void modes(int ignores) {
  static char room[1000];
  MPI_Buffer_attach(room, (int)sizeof room);
  for (int turn = 0; turn < 2; ++turn) {
    if (g_rank == turn) {
      send_by(MPI_Bsend, "MPI_Bsend", g_other, kTag);
      send_by(MPI_Ssend, "MPI_Ssend", g_other, kTag + 1);
      send_by(MPI_Rsend, "MPI_Rsend", MPI_PROC_NULL, kTag);
    } else {
      receive(MPI_ANY_SOURCE, MPI_ANY_TAG, ignores, g_other, kTag);
      receive(g_other, MPI_ANY_TAG, ignores, g_other, kTag + 1);
    }
  }
  char* back;
  int bytes;
  MPI_Buffer_detach(&back, &bytes);
}

static void exchange(int ignores) {
  MPI_Status own, *const status = ignores ? MPI_STATUS_IGNORE : &own;
  int value = -1, done;
  done = MPI_Sendrecv(&g_rank, 1, MPI_INT, g_other, kTag + g_rank, &value, 1, MPI_INT,
                      MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status);
  check_status(status, g_other, kTag + g_other);
  demand(value == g_other, "another message");
  SAY("MPI_Sendrecv", 1, g_other, kTag + g_rank, 1, of_rank(MPI_ANY_SOURCE), of_tag(MPI_ANY_TAG),
      of_comm(MPI_COMM_WORLD), done, g_other, kTag + g_other);
  value = g_rank;
  done = MPI_Sendrecv_replace(&value, 1, MPI_INT, g_other, kTag, MPI_PROC_NULL, kTag,
                              MPI_COMM_WORLD, status);
  SAY("MPI_Sendrecv_replace", 1, g_other, kTag, of_rank(MPI_PROC_NULL), kTag,
      of_comm(MPI_COMM_WORLD), done, of_rank(MPI_PROC_NULL), of_tag(MPI_ANY_TAG));
  receive(g_other, kTag, ignores, g_other, kTag);
}

static void probe(int ignores) {
  MPI_Status own, *const status = ignores ? MPI_STATUS_IGNORE : &own;
  const long long any = of_rank(MPI_ANY_SOURCE), any_tag = of_tag(MPI_ANY_TAG);
  const long long world = of_comm(MPI_COMM_WORLD);
  int flag, value = -1, done;
  MPI_Message message;
  for (int turn = 0; turn < 2; ++turn) {
    if (g_rank == turn) {
      for (int i = 0; i < 4; ++i) send_to(g_other, kTag + i);
      continue;
    }
    done = MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status);
    check_status(status, g_other, kTag);
    SAY("MPI_Probe", any, any_tag, world, done, g_other, kTag);
    for (flag = 0; !flag;) {
      done = MPI_Iprobe(g_other, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, status);
    }
    SAY("MPI_Iprobe", g_other, any_tag, world, done, g_other, kTag);
    receive(MPI_ANY_SOURCE, MPI_ANY_TAG, ignores, g_other, kTag);
    done = MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, status);
    SAY("MPI_Mprobe", any, any_tag, world, of_message(message), done, g_other, kTag + 1);
    const long long probed = of_message(message);
    done = MPI_Mrecv(&value, 1, MPI_INT, &message, status);
    check_status(status, g_other, kTag + 1);
    SAY("MPI_Mrecv", 1, probed, done, g_other, kTag + 1);
    for (flag = 0; !flag;) {
      done = MPI_Improbe(MPI_ANY_SOURCE, kTag + 3, MPI_COMM_WORLD, &flag, &message, status);
    }
    SAY("MPI_Improbe", any, kTag + 3, world, of_message(message), done, g_other, kTag + 3);
    const long long taken = of_message(message);
    MPI_Request request;
    done = MPI_Imrecv(&value, 1, MPI_INT, &message, &request);
    SAY("MPI_Imrecv", 1, taken, of_request(request), done);
    const long long begun = of_request(request);
    done = MPI_Wait(&request, status);
    check_status(status, g_other, kTag + 3);
    SAY("MPI_Wait", begun, done, g_other, kTag + 3);
    receive(g_other, MPI_ANY_TAG, ignores, g_other, kTag + 2);
    done = MPI_Iprobe(g_other, kTag + 9, MPI_COMM_WORLD, &flag, status);
    demand(done == MPI_SUCCESS && !flag, "there is a message");
  }
}

#if MPI_VERSION >= 4
/* The calls with large counts. */
static void large(int ignores) {
  MPI_Status own, *const status = ignores ? MPI_STATUS_IGNORE : &own;
  const long long world = of_comm(MPI_COMM_WORLD);
  int value = -1, done;
  if (g_rank == 0) {
    done = MPI_Send_c(&g_rank, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD);
    SAY("MPI_Send_c", 1, 1, kTag, world, done);
  } else {
    done = MPI_Recv_c(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status);
    SAY("MPI_Recv_c", 1, of_rank(MPI_ANY_SOURCE), of_tag(MPI_ANY_TAG), world, done, 0, kTag);
  }
  done = MPI_Sendrecv_c(&g_rank, 1, MPI_INT, g_other, kTag, &value, 1, MPI_INT, g_other, kTag,
                        MPI_COMM_WORLD, status);
  SAY("MPI_Sendrecv_c", 1, g_other, kTag, 1, g_other, kTag, world, done, g_other, kTag);
}
#else
static void large(int ignores) {
  (void)ignores;
}
#endif

static void write_between_messages(void) {
  MPI_File file;
  int value = -1;
  MPI_File_open(MPI_COMM_WORLD, "data.bin", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  for (int i = 0; i < kSelf; ++i) {
    if (i % (kSelf / kWrites) == 0) {
      const MPI_Offset at = (MPI_Offset)sizeof value * (2 * (i / (kSelf / kWrites)) + g_rank);
      MPI_File_write_at_all(file, at, &g_rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    }
    MPI_Sendrecv(&i, 1, MPI_INT, 0, kTag, &value, 1, MPI_INT, 0, kTag, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
}

/* ROMIO moves the data of these inside MPI_Wait. */
static void write_by_requests(void) {
  enum { kOpens = 2 }; /* under an even descriptor and an odd one */
  static const char* const names[kOpens] = {"data.0", "data.1"};
  MPI_File files[kOpens];
  MPI_Request request;
  for (int k = 0; k < kOpens; ++k) {
    MPI_File_open(MPI_COMM_WORLD, names[k], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                  &files[k]);
  }
  for (int i = 0; i < kWrites * kOpens; ++i) {
    const MPI_Offset at = (MPI_Offset)sizeof g_rank * (2 * i + g_rank);
    MPI_File_iwrite_at_all(files[i % kOpens], at, &g_rank, 1, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  for (int k = 0; k < kOpens; ++k) MPI_File_close(&files[k]);
}

static void say_where(void) {
  const ElfW(Rela)* slots = NULL;
  const ElfW(Sym)* symbols = NULL;
  const char* names = NULL;
  size_t count = 0;
  for (const ElfW(Dyn)* at = _DYNAMIC; at->d_tag != DT_NULL; ++at) {
    if (at->d_tag == DT_JMPREL) slots = (const void*)at->d_un.d_ptr;
    if (at->d_tag == DT_PLTRELSZ) count = at->d_un.d_val / sizeof *slots;
    if (at->d_tag == DT_SYMTAB) symbols = (const void*)at->d_un.d_ptr;
    if (at->d_tag == DT_STRTAB) names = (const void*)at->d_un.d_ptr;
  }
  const struct link_map* self = dlopen(NULL, RTLD_LAZY);
  for (size_t i = 0; i < count; ++i) {
    const char* name = names + symbols[ELF64_R_SYM(slots[i].r_info)].st_name;
    if (ELF64_R_TYPE(slots[i].r_info) != kJumpSlot || strncmp(name, "MPI_", 4) != 0) continue;
    Dl_info found = {0};
    dladdr(*(void**)(self->l_addr + slots[i].r_offset), &found);
    printf("%s %s\n", name, found.dli_fname == NULL ? "-" : found.dli_fname);
  }
}

int main(int argc, char** argv) {
  if (!begin(&argc, &argv) || argc != 2) return 2;
  for (int ignores = 0; ignores < 2; ++ignores) {
    blocking(ignores);
    modes(ignores);
    exchange(ignores);
    probe(ignores);
    large(ignores);
  }
  fclose(g_said);
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == 0 && strcmp(argv[1], "where") == 0) say_where();
  if (strcmp(argv[1], "files") == 0) write_between_messages();
  if (strcmp(argv[1], "waits") == 0) write_by_requests();
  return MPI_Finalize();
}
