/* The one interface between libiotune.so and libiotune-db.so: plain C, because the
 * two share no C++ run time. Only the process that needs a decision loads the
 * latter. Every function is thread-compatible and never throws or exits. */
#ifndef IOTUNE_PATTERNDB_DECISION_H
#define IOTUNE_PATTERNDB_DECISION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IOTUNE_DECISION_VERSION 5u
#define IOTUNE_DECISION_MAX_BYTES 8192u
#define IOTUNE_DECISION_MAX_SETTINGS 64u /* a decision has no more `set` lines */

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
  uint32_t known_only; /* 1: an answer without settings that this run was given before, or none */
  const char*
      site_database; /* what /etc/iotune.conf names, NULL: none; the first question's holds */
  /* Which MPI-IO opens the file: "OMPIO", "Open MPI ROMIO", or NULL where the MPI has but one or it
   * cannot be told. Called only where settings depend on it, for it may take long. NULL: unknown.
   */
  const char* (*mpi_io)(const char* file);
};

/* Writes the decision as text into answer[capacity], NUL-terminated:
 *
 *   iotune-decision 1
 *   source exact|similar|predicted|config|series|untrained|unknown|off
 *                               (one of them; explore: left at the default on purpose, to
 *                               compare; drift: not trusted just now)
 *   state untrained|default-is-best|tuned|reverted|refused
 *   row N                       (tunings.id, -1: none)
 *   distance D                  (0 for an exact match; without an answer that of the nearest
 *                               one, behind a wall too; not there where none is known)
 *   pattern <1D,(BLOCK),(8388608)>
 *   message one line of plain words for `iotune explain`
 *   set NAME VALUE [DATASET]    (any number; names of patterndb/settings/parameters.h; DATASET, to
 *                               the end of the line: for datasets of that name or path)
 *   sieves 1                    (writes of all ranks at once may be sieved,
 * patterndb/settings/gate.h) refuse NAME VALUE REASON    (any number; settings that are not
 * applied, and why) unasked N                   (not with `set`: so many further opens of this run,
 * of whichever file, will get no settings either, and need not be asked about) end
 *
 * Returns the length (0: nothing known, of known_only; or nobody named a database and there is
 * none yet), or -1 with a one-line message in answer when there is no decision to be had (a
 * database that was named is not there, damaged, newer …): leave everything alone. */
int iotune_decide(const struct iotune_question* question, char* answer, size_t capacity);

/* For the files that the program opens by POSIX itself, all at once: blocks, each of the lines
 *
 *   file NAME              (masked 1: a base name, digits as '#'; else a path, or a base name)
 *   masked 0|1
 *   filesystem NAME        (on which it holds; empty: on any)
 *   creating 0|1           (for opens that may make the file, or others)
 *
 * and a decision as above. `question` tells program, ranks and nodes. Length, 0: nothing is to be
 * set; -1 with a message. */
#define IOTUNE_PROGRAM_ANSWERS_MAX_BYTES 65536u
int iotune_program_answers(const struct iotune_question* question, char* answer, size_t capacity);

/* At a run's end. Strings as above. */
struct iotune_run_end {
  uint32_t version;          /* IOTUNE_DECISION_VERSION */
  uint32_t held;             /* 1: the run was not to draw which files go without settings */
  const char* folder;        /* of the kept runs (kept_runs.h) */
  const char* trace;         /* of this run; NULL: there is nothing to learn from it */
  const char* name;          /* under which it is kept in `folder`; NULL: it is not */
  uint64_t until_ns;         /* CLOCK_MONOTONIC: by then the caller wants to go on */
  const char* site_database; /* as of a question */
};

/* Goes on with the kept runs, and learns from this one: observations (workload, patterns, bytes,
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
