/* What the two provers share: drawn numbers, the expected bytes of a file, and the comparison.
 *
 * A prover writes and reads files in drawn ways under settings that it is given, and compares every
 * byte on disk with what was asked for. All ranks draw the same numbers, so that each knows what
 * the others write. */
#ifndef IOTUNE_PROVE_H
#define IOTUNE_PROVE_H

#include <mpi.h>

/* What a prover writes and reads; a new number where that changes, so that a record of proofs says
 * what each rests on. 1: files alone; 2: series of small files under stalls too; 3: more
 * reads and shorter series, shared pointers, non-blocking collective calls, files that are cut and
 * grown; of HDF5 stalls, attributes and datasets that grow. */
enum { PROVE_VERSION = 3 };

enum { PROVE_MOST_SETTINGS = 64, PROVE_MOST_PIECES = 96 };

struct prove_setting {
  const char* name;
  const char* value;
};

struct prove {
  const char* directory;
  unsigned long long seed;
  int seeds;                 /* so many, the first one first */
  int files;                 /* to be written with each seed */
  double small_file_seconds; /* how long small files are written with each seed */
  int rank, ranks;
  char io[256]; /* what Open MPI was set to take as its MPI-IO; "" of other MPIs */
  int is_ompio, is_open_mpi_romio; /* which of the two Open MPI has taken */
  struct prove_setting settings[PROVE_MOST_SETTINGS];
  int setting_count;
  int spoil; /* one byte on disk is changed before the comparison, so that a test sees it fail */
  /* Of this rank, summed over all at the end. */
  long long compared_bytes, wrong_bytes;
  char first_fault[256]; /* in words; of the first wrong byte that this rank saw */
};

/* The next number of a sequence; the sequence is its 64-bit state. */
unsigned long long prove_draw(unsigned long long* state);
/* From 0 to below n. */
long long prove_below(unsigned long long* state, long long n);

/* The byte that the write number `write` puts at `offset` of file number `file`. */
unsigned char prove_byte(unsigned long long seed, int file, int write, long long offset);

/* A piece of a file that one rank transfers. */
struct prove_piece {
  long long offset;
  int bytes;
};
/* The pieces of one rank, in ascending order and without overlap. */
struct prove_pieces {
  int count;
  struct prove_piece of[PROVE_MOST_PIECES];
};

/* Draws disjoint pieces for all ranks in [begin, begin + span): interleaved blocks, one block a
 * rank in either order, or random cuts of which some belong to nobody. */
void prove_draw_pieces(unsigned long long* state, int ranks, long long begin, long long span,
                       struct prove_pieces* pieces);

/* What a file must hold. MPI says nothing of bytes that nobody wrote: those are not compared. */
struct prove_image {
  unsigned char* bytes;
  unsigned char* known; /* 1: the byte of the same place was written */
  long long size;       /* of the file */
};

/* Counts a comparison of `bytes` bytes from `offset` on; a difference is remembered under `what`.
 */
void prove_compare(struct prove* prove, const char* what, int file, long long offset,
                   const unsigned char* got, const struct prove_image* image, long long bytes);

/* Rank 0 reads the whole file by POSIX calls and compares it with the image. */
void prove_compare_file(struct prove* prove, const char* path, int file,
                        const struct prove_image* image);

/* Rank 0 only: makes the file by POSIX calls. */
void prove_write_file(struct prove* prove, const char* path, const struct prove_image* image);

/* Ends all ranks with a line on stderr. */
_Noreturn void prove_fail(const char* path, const char* what);
/* Likewise where `code` is no success, with MPI's reason. */
void prove_need(int code, const char* path, const char* what);

/* The hints among the settings: those whose names hold cb_, romio_, ind_ or collective_buffering.
 * MPI_INFO_NULL where there are none. The caller frees it. */
MPI_Info prove_hints(const struct prove* prove);

/* The value of a setting, NULL where it is not given. */
const char* prove_value(const struct prove* prove, const char* name);

/* Each rank is stopped now and then for up to half a millisecond wherever it is, as by a system
 * that gives its processor to another: the order in which messages arrive must not matter. */
void prove_begin_stalls(const struct prove* prove, unsigned drawn);
void prove_end_stalls(void);

/* Series of small files, for the prover of MPI-IO. */
void prove_checkpoints(struct prove* prove);
/* Files that are written and read by the pointer that all ranks share: likewise. */
void prove_shared(struct prove* prove);

/* Each prover brings these two: what it writes, and the version of HDF5 ("" without HDF5). */
void prove_files(struct prove* prove);
void prove_hdf5_version(char* text, int capacity);

#endif
