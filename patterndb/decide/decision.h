/* The one interface between libiotune.so and libiotune-db.so: plain C, because the
 * two share no C++ run time. Only the process that needs a decision loads the
 * latter. Every function is thread-compatible and never throws or exits. */
#ifndef IOTUNE_PATTERNDB_DECISION_H
#define IOTUNE_PATTERNDB_DECISION_H

#include <stddef.h>
#include <stdint.h>

#include "core/words/decision_words.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef IOTUNE_DECISION_VERSION /* a test's library has another one */
#define IOTUNE_DECISION_VERSION 8u
#endif
#define IOTUNE_DECISION_MAX_BYTES 8192u
#define IOTUNE_DECISION_MAX_SETTINGS 64u
#define IOTUNE_DECISION_MAX_REFUSED 24u /* further ones are left out */

/* One decision: this header, `setting_count` + `refused_count` entries, and texts, together
 * `bytes`. The tuner's rank 0 broadcasts it as it stands, to processes of the same build. Offsets
 * count from the begin of the header; each leads to a NUL-terminated text. Aligned to 8 bytes. */
struct iotune_decision {
  uint32_t version;       /* IOTUNE_DECISION_VERSION */
  uint32_t bytes;         /* of all; a multiple of 8, the last byte is NUL; 0: no decision */
  int64_t row;            /* tunings.id, -1: none */
  int64_t distance_milli; /* thousandths: 0 for an exact match; without an answer that of the
                             nearest one, behind a wall too; negative: none is known */
  uint32_t
      own_parameters; /* of the user's Open MPI (tuner/mpiio/openmpi_io.h): rank 0 fills it in */
  uint32_t unasked_opens; /* only without settings: so many further opens of this run, of
                             whichever file, get no settings either and need no question */
  uint16_t setting_count;
  uint16_t refused_count;
  uint16_t pattern; /* offset: <1D,(BLOCK),(8388608)>, at most 511 bytes */
  uint16_t message; /* offset: one line of plain words for `iotune explain`, likewise */
  uint8_t source;   /* enum iotune_source */
  uint8_t state;    /* enum iotune_state */
  uint8_t sieves;   /* 1: writes of all ranks at once may be sieved, patterndb/settings/gate.h */
  uint8_t unused[5];
};

/* Offsets. Settings first, then the refused ones; names are those of
 * patterndb/settings/parameters.h. */
struct iotune_decision_entry {
  uint16_t name;
  uint16_t value;
  uint16_t detail; /* of a setting the dataset's name or path, empty: all; else why it is refused */
};

/* Room for any answer to a question. */
union iotune_answer {
  struct iotune_decision decision;
  char message[IOTUNE_DECISION_MAX_BYTES];
};

/* All strings are NUL-terminated and owned by the caller; NULL means unknown. */
struct iotune_question {
  uint32_t version; /* IOTUNE_DECISION_VERSION */
  uint32_t ranks;   /* of the run */
  uint32_t nodes;
  uint32_t creating;   /* 1: the file is created, 0: opened */
  const char* layer;   /* "hdf5", "mpiio", "posix"; "hdf5-self": one of several ranks, for itself */
  const char* program; /* absolute path of the executable */
  const char* file;    /* absolute path of the file */
  const char* mpi;     /* "MPICH 4.0.2" */
  const char* hdf5;    /* "1.10.8" or NULL */
  const char* filesystem; /* "ext4", "cephfs", "lustre", "tmpfs" … */
  uint32_t frozen;        /* 1: only what is trusted is applied, and nothing is written */
  uint32_t gathers;       /* 1: what was measured of gathering is applied */
  uint32_t known_only; /* 1: an answer without settings that this run was given before, or none */
  const char*
      site_database; /* what /etc/iotune.conf names, NULL: none; the first question's holds */
  /* Which MPI-IO opens the file: "OMPIO", "Open MPI ROMIO", or NULL where the MPI has but one or it
   * cannot be known. Called only where settings depend on it, for it may take long. NULL: unknown.
   */
  const char* (*mpi_io)(const char* file);
  /* What is read for the user's own database, NULL: that itself; the first question's holds. */
  const char* database_copy;
};

/* Writes a struct iotune_decision into answer[capacity], which is aligned to 8 bytes; union
 * iotune_answer has room for each. Returns its bytes (0: nothing known, of known_only; or nobody
 * named a database and there is none yet), or -1 with a one-line message, NUL-terminated, in answer
 * when there is no decision to be had (a database that was named is not there, damaged, newer …):
 * leave everything alone. */
int iotune_decide(const struct iotune_question* question, void* answer, size_t capacity);

/* One file, or files of one name, that the program opens by POSIX itself. The decision follows
 * right behind, then the texts; the next answer begins `bytes` further on. */
struct iotune_program_answer {
  uint32_t bytes;      /* of all, the decision included; a multiple of 8, the last byte is NUL */
  uint32_t file;       /* offset from the begin of this struct: masked: a base name, digits as '#';
                          else a path, or a base name */
  uint32_t filesystem; /* offset: on which it holds; empty: on any */
  uint8_t masked;
  uint8_t creating; /* 1: for opens that may make the file, 0: for others */
  uint8_t unused[2];
};

/* For all files that the program opens by POSIX itself: struct iotune_program_answer, one behind
 * the other, into answers[capacity], which is aligned to 8 bytes: the first ones that fit.
 * `question` tells program, ranks and nodes. Returns the bytes, 0: nothing is to be set; -1 with a
 * message. */
#define IOTUNE_PROGRAM_ANSWERS_MAX_BYTES 65536u
int iotune_program_answers(const struct iotune_question* question, void* answers, size_t capacity);

/* At a run's end. Strings as above. */
struct iotune_run_end {
  uint32_t version;          /* IOTUNE_DECISION_VERSION */
  uint32_t held;             /* 1: the run was not to draw which files go without settings */
  const char* folder;        /* of the pending runs (pending_runs.h) */
  const char* trace;         /* of this run; NULL: there is nothing to learn from it */
  const char* name;          /* under which it is kept in `folder`; NULL: it is not */
  uint64_t until_ns;         /* CLOCK_MONOTONIC: by then the caller wants to go on */
  const char* site_database; /* as of a question */
};

/* Goes on with the pending runs, and learns from this one: observations (workload, patterns, bytes,
 * seconds, settings) go into the user's database where there is time for it and no lock must be
 * waited for, else into the user's spool. What is left off is kept for the next call. 0, or -1
 * with a message. */
int iotune_learn(const struct iotune_run_end* end, char* message, size_t capacity);

/* A file that this process asked about was closed: what its I/O took here, from open to close.
 * Later files of the same series within the run are decided by it. */
void iotune_series_closed(const char* file, double seconds, uint64_t bytes, int collective);

#ifdef __cplusplus
}
#endif
#endif
