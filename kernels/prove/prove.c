/* iotune-prove and iotune-prove-hdf5: options, drawn numbers, comparison and result. */
#include "prove.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "run_failure.h"

unsigned long long prove_draw(unsigned long long* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

long long prove_below(unsigned long long* state, long long n) {
  return (long long)(prove_draw(state) % (unsigned long long)n);
}

unsigned char prove_byte(unsigned long long seed, int file, int write, long long offset) {
  unsigned long long state = seed ^ (unsigned long long)file << 48 ^
                             (unsigned long long)write << 40 ^ (unsigned long long)(offset >> 3);
  return (unsigned char)(prove_draw(&state) >> 8 * (offset & 7));
}

static void add_piece(struct prove_pieces* to, long long offset, long long bytes) {
  if (bytes <= 0 || to->count == PROVE_MOST_PIECES) return;
  to->of[to->count++] = (struct prove_piece){offset, (int)bytes};
}

static void draw_interleaved(unsigned long long* state, int ranks, long long begin, long long span,
                             struct prove_pieces* pieces) {
  long long block =
      prove_below(state, 2) ? 1LL << prove_below(state, 13) : 1 + prove_below(state, 5000);
  long long gap = prove_below(state, 3) ? 0 : 1 + prove_below(state, 700);
  long long steps = span / (ranks * (block + gap));
  if (steps > 32) steps = 1 + prove_below(state, 32);
  for (long long step = 0; step < steps; step++)
    for (int rank = 0; rank < ranks; rank++)
      add_piece(&pieces[rank], begin + (step * ranks + rank) * (block + gap), block);
}

static void draw_blocks(unsigned long long* state, int ranks, long long begin, long long span,
                        struct prove_pieces* pieces) {
  int reversed = (int)prove_below(state, 2);
  long long most = span / ranks, block = 1 + prove_below(state, most);
  for (int rank = 0; rank < ranks; rank++)
    add_piece(&pieces[reversed ? ranks - 1 - rank : rank], begin + rank * block, block);
}

static void draw_cuts(unsigned long long* state, int ranks, long long begin, long long span,
                      struct prove_pieces* pieces) {
  long long most_bytes = 2 * (1 + span / (8 + prove_below(state, 60)));
  for (long long at = 0; at < span;) {
    long long bytes = 1 + prove_below(state, most_bytes);
    if (bytes > span - at) bytes = span - at;
    /* One of the values is nobody's: a hole. */
    int owner = (int)prove_below(state, ranks + 1);
    if (owner < ranks) add_piece(&pieces[owner], begin + at, bytes);
    at += bytes;
  }
}

void prove_draw_pieces(unsigned long long* state, int ranks, long long begin, long long span,
                       struct prove_pieces* pieces) {
  for (int rank = 0; rank < ranks; rank++) pieces[rank].count = 0;
  long long kind = prove_below(state, 5);
  if (kind < 2) {
    draw_interleaved(state, ranks, begin, span, pieces);
  } else if (kind == 2) {
    draw_blocks(state, ranks, begin, span, pieces);
  } else {
    draw_cuts(state, ranks, begin, span, pieces);
  }
}

void prove_compare(struct prove* prove, const char* what, int file, long long offset,
                   const unsigned char* got, const struct prove_image* image, long long bytes) {
  const unsigned char* expected = image->bytes + offset;
  for (long long i = 0; i < bytes; i++) {
    if (!image->known[offset + i]) continue;
    prove->compared_bytes++;
    if (got[i] == expected[i]) continue;
    if (prove->first_fault[0] == '\0')
      snprintf(prove->first_fault, sizeof prove->first_fault,
               "%s, file %d, byte %lld, on rank %d: %02x instead of %02x", what, file, offset + i,
               prove->rank, got[i], expected[i]);
    prove->wrong_bytes++;
  }
}

/* Changes one byte that would be compared. */
static void spoil(struct prove* prove, int fd, const struct prove_image* image) {
  for (long long at = image->size / 2; at < image->size; at++) {
    unsigned char other = (unsigned char)(image->bytes[at] ^ 1);
    if (!image->known[at]) continue;
    if (pwrite(fd, &other, 1, (off_t)at) == 1) prove->spoil = 0;
    return;
  }
}

void prove_compare_file(struct prove* prove, const char* path, int file,
                        const struct prove_image* image) {
  if (prove->rank != 0) return;
  int fd = open(path, O_RDWR);
  long long size = fd < 0 ? -1 : (long long)lseek(fd, 0, SEEK_END);
  if (size < 0) prove_fail(path, "cannot be opened for the comparison");
  unsigned char* got = calloc(1, (size_t)image->size + 1);
  if (got == NULL) prove_fail(path, "no memory");
  if (prove->spoil) spoil(prove, fd, image);
  for (long long at = 0; at < image->size;) {
    ssize_t n = pread(fd, got + at, (size_t)(image->size - at), (off_t)at);
    if (n < 0) prove_fail(path, "cannot be read for the comparison");
    if (n == 0) break;
    at += n;
  }
  close(fd);
  prove_compare(prove, "on disk", file, 0, got, image, image->size);
  if (size != image->size) {
    if (prove->first_fault[0] == '\0')
      snprintf(prove->first_fault, sizeof prove->first_fault,
               "file %d has %lld bytes instead of %lld", file, size, image->size);
    prove->wrong_bytes++;
  }
  free(got);
}

void prove_write_file(struct prove* prove, const char* path, const struct prove_image* image) {
  if (prove->rank != 0) return;
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) prove_fail(path, "cannot be made");
  for (long long at = 0; at < image->size;) {
    ssize_t n = pwrite(fd, image->bytes + at, (size_t)(image->size - at), (off_t)at);
    if (n <= 0) prove_fail(path, "cannot be written");
    at += n;
  }
  close(fd);
}

void prove_fail(const char* path, const char* what) {
  run_fail("iotune-prove", path, what);
}

void prove_need(int code, const char* path, const char* what) {
  run_need("iotune-prove", code, path, what);
}

static int is_hint(const char* name) {
  return strstr(name, "cb_") != NULL || strncmp(name, "romio_", 6) == 0 ||
         strncmp(name, "ind_", 4) == 0 || strcmp(name, "collective_buffering") == 0;
}

MPI_Info prove_hints(const struct prove* prove) {
  MPI_Info info = MPI_INFO_NULL;
  for (int i = 0; i < prove->setting_count; i++) {
    const struct prove_setting* one = &prove->settings[i];
    if (!is_hint(one->name)) continue;
    if (info == MPI_INFO_NULL) MPI_Info_create(&info);
    MPI_Info_set(info, one->name, one->value);
  }
  return info;
}

const char* prove_value(const struct prove* prove, const char* name) {
  for (int i = 0; i < prove->setting_count; i++)
    if (strcmp(prove->settings[i].name, name) == 0) return prove->settings[i].value;
  return NULL;
}

/* Open MPI's parameter `io`: which MPI-IO it was set to take; "" where nothing was set or it is
 * another MPI. */
static void read_io_parameter(char* text, int capacity) {
  int provided = 0, index = -1, elements = 0;
  MPI_T_cvar_handle handle;
  char value[4096] = "";
  text[0] = '\0';
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return;
  if (MPI_T_cvar_get_index("io", &index) == MPI_SUCCESS &&
      MPI_T_cvar_handle_alloc(index, NULL, &handle, &elements) == MPI_SUCCESS) {
    if (elements < (int)sizeof value) MPI_T_cvar_read(handle, value);
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
  for (const char* c = value; *c != '\0' && capacity > 1; c++, capacity--)
    *text++ = (char)(*c == '"' || *c == '\\' || *c < ' ' ? '_' : *c);
  *text = '\0';
}

/* As Open MPI chooses: what was set, and else ROMIO on Lustre alone. */
static int is_open_mpi_romio(const struct prove* prove) {
#ifdef OPEN_MPI
  enum { LUSTRE = 0x0bd00bd0 };
  struct statfs of;
  if (prove->io[0] != '\0') return (strstr(prove->io, "romio") != NULL) != (prove->io[0] == '^');
  return statfs(prove->directory, &of) == 0 && of.f_type == LUSTRE;
#else
  (void)prove;
  return 0;
#endif
}

static int nodes_of_world(int rank) {
  MPI_Comm node;
  int in_node = 0, first = 0, nodes = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &in_node);
  first = in_node == 0;
  MPI_Allreduce(&first, &nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_free(&node);
  return nodes;
}

/* One line of JSON from rank 0: sums over all ranks, and the first fault of the lowest rank that
 * saw one. */
static void print_result(struct prove* prove) {
  long long mine[2] = {prove->compared_bytes, prove->wrong_bytes}, all[2] = {0, 0};
  int seen = prove->first_fault[0] == '\0' ? prove->ranks : prove->rank, first = 0;
  int nodes = nodes_of_world(prove->rank);
  char hdf5[32] = "";
  prove_hdf5_version(hdf5, sizeof hdf5);
  MPI_Allreduce(mine, all, 2, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(&seen, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first < prove->ranks)
    MPI_Bcast(prove->first_fault, sizeof prove->first_fault, MPI_CHAR, first, MPI_COMM_WORLD);
  if (prove->rank != 0) return;
  printf(
      "{\"prover\": %d, \"ranks\": %d, \"nodes\": %d, \"hdf5\": \"%s\", \"io\": \"%s\", \"seeds\": "
      "%d, "
      "\"compared_bytes\": %lld, \"wrong_bytes\": %lld, \"first_fault\": \"%s\"}\n",
      PROVE_VERSION, prove->ranks, nodes, hdf5, prove->io, prove->seeds, all[0], all[1],
      prove->first_fault);
  fflush(stdout);
}

static void usage(const char* program) {
  fprintf(stderr,
          "usage: %s --dir DIR [--seed N] [--seeds N] [--files N] [--seconds N] "
          "[--set NAME=VALUE] [--spoil]\n",
          program);
  _Exit(2);
}

static void read_options(int argc, char** argv, struct prove* prove) {
  for (int i = 1; i < argc; i++) {
    const char* option = argv[i];
    if (strcmp(option, "--spoil") == 0) {
      prove->spoil = 1;
      continue;
    }
    if (++i == argc) usage(argv[0]);
    if (strcmp(option, "--dir") == 0) {
      prove->directory = argv[i];
    } else if (strcmp(option, "--seed") == 0) {
      prove->seed = strtoull(argv[i], NULL, 10);
    } else if (strcmp(option, "--seeds") == 0) {
      prove->seeds = (int)strtol(argv[i], NULL, 10);
    } else if (strcmp(option, "--files") == 0) {
      prove->files = (int)strtol(argv[i], NULL, 10);
    } else if (strcmp(option, "--seconds") == 0) {
      prove->small_file_seconds = strtod(argv[i], NULL);
    } else if (strcmp(option, "--set") == 0 && prove->setting_count < PROVE_MOST_SETTINGS) {
      char* equals = strchr(argv[i], '=');
      if (equals == NULL) usage(argv[0]);
      *equals = '\0';
      prove->settings[prove->setting_count++] = (struct prove_setting){argv[i], equals + 1};
    } else {
      usage(argv[0]);
    }
  }
  if (prove->directory == NULL || prove->files < 1 || prove->seeds < 1) usage(argv[0]);
}

int main(int argc, char** argv) {
  struct prove prove = {.seed = 1, .seeds = 1, .files = 12, .small_file_seconds = 4};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &prove.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &prove.ranks);
  read_options(argc, argv, &prove);
  read_io_parameter(prove.io, sizeof prove.io);
  prove.is_open_mpi_romio = is_open_mpi_romio(&prove);
#ifdef OPEN_MPI
  prove.is_ompio = !prove.is_open_mpi_romio;
#endif
  unsigned long long first = prove.seed;
  for (int i = 0; i < prove.seeds; i++) {
    prove.seed = first + (unsigned long long)i;
    prove_files(&prove);
  }
  print_result(&prove);
  MPI_Finalize();
  return 0;
}
