/* A plan file (PLAN.md) as one rank needs it: the selections of other ranks
 * are skipped, not kept. */
#ifndef IOTUNE_PLAN_H
#define IOTUNE_PLAN_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan_reader.h"

struct plan_dataset {
  long id;
  char* path;
  size_t element_bytes;
  H5T_class_t element_class; /* H5T_NO_CLASS: not said */
  int ndims;
  hsize_t dims[H5S_MAX_RANK];
  hsize_t chunk[H5S_MAX_RANK];
  bool chunked;
  int deflate;          /* -1: none */
  size_t before;        /* created or opened before this transfer of the file */
  size_t last_transfer; /* closed after this one */
  bool used;            /* whether there is one */
};

/* UNLISTED ranks call in collective transfers only. */
enum plan_selection { PLAN_UNLISTED, PLAN_NONE, PLAN_ALL, PLAN_SLABS, PLAN_POINTS };

struct plan_transfer {
  bool write, collective;
  bool asynchronous, waits; /* waits: after it, for all that was begun */
  bool reopens;             /* before each call, where its dataset was used before */
  bool of_chunks;           /* as they lie in the file; then: */
  uint32_t filters;         /* that were left out, a bit each */
  size_t stored_bytes;      /* of a chunk; 0: as many as its elements have */
  long long pause_ns;       /* before each call */
  size_t multi;             /* of so many transfers by one call this is the first; 0: of none */
  size_t dataset;           /* index in the file */
  hsize_t repeat;
  long long* shift; /* ndims numbers, NULL where repeat is 1 */
  enum plan_selection selection;
  size_t count;   /* slabs or points */
  hsize_t* place; /* a slab: start[ndims] stride[ndims] count[ndims] block[ndims] */
};

struct plan_file {
  char* path;
  bool create;
  bool writes;          /* some transfer of it does, on whichever rank */
  long long page_bytes; /* of paged file space, where it is made; 0: none */
  size_t datasets, transfers;
  struct plan_dataset* dataset;
  struct plan_transfer* transfer;
};

struct plan {
  size_t files;
  struct plan_file* file;
  /* While it is read: */
  bool inside;           /* between `file` and `close` */
  size_t multi, members; /* transfers that are one call, and how many of them were read */
};

/* Reads what the reader's rank needs. False with the reader's `why`; `plan` may be freed either
 * way. */
bool plan_read(struct plan_reader* reader, struct plan* plan);
void plan_free(struct plan* plan);

#endif
