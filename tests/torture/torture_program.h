/* What the parts of torture_program share. */
#ifndef IOTUNE_TORTURE_PROGRAM_H
#define IOTUNE_TORTURE_PROGRAM_H

#include <hdf5.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_ELEMENTS = 1 << 16 };

struct file {
  hid_t hdf5;
  MPI_File mpiio;
  int me, all; /* rank and size of its communicator */
};
struct set {
  hid_t id;
  int file, salt;
  uint64_t rows, columns;
};
extern int rank, ranks;
extern struct file files[8];
extern struct set sets[16];

/* A rank's rows and columns of an array. */
struct part {
  uint64_t first_row, rows, row_step, columns, first_column;
};
struct part part_of(const char* shape, int me, int all, uint64_t rows, uint64_t columns);
void fill(const struct part* part, uint64_t columns, int salt, int* values);

MPI_Comm communicator(const char* name);
void own_name(const char* name, const char* comm, char* to, size_t room);
MPI_Info info_of(const char* text);
int takes_part(const char* who, int me, int all);

void note_result(int good);
void note_bytes(const void* bytes, size_t n);

/* Nonzero where the command was one of theirs. */
int run_hdf5(const char* command, char** words);
int run_mpiio(const char* command, char** words);
void quiet_hdf5(void);
void raise_segv(void);
int dump_files(int count, char** names);

#endif
