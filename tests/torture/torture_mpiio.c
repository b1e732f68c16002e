/* The MPI-IO commands of torture_program. */
#include <stdlib.h>
#include <string.h>

#include "torture_program.h"

static int values[MOST_ELEMENTS];

/* F NAME COMM INFO create|rdonly */
static void open_file(char** words) {
  struct file* file = &files[atoi(words[0])];
  char name[256];
  own_name(words[1], words[2], name, sizeof name);
  const MPI_Comm comm = communicator(words[2]);
  MPI_Info info = info_of(words[3]);
  const int create = strcmp(words[4], "create") == 0;
  const int result = MPI_File_open(
      comm, name, create ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY, info, &file->mpiio);
  note_result(result == MPI_SUCCESS);
  if (result != MPI_SUCCESS) file->mpiio = MPI_FILE_NULL;
  MPI_Comm_rank(comm, &file->me);
  MPI_Comm_size(comm, &file->all);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
}

/* F FORM ROWS COLUMNS SHAPE WHO, form: at, at_all, view (rows under a view, collective) */
static void transfer(int write, char** words) {
  struct file* file = &files[atoi(words[0])];
  if (file->mpiio == MPI_FILE_NULL) return;
  const uint64_t rows = strtoull(words[2], NULL, 10), columns = strtoull(words[3], NULL, 10);
  const int collective = strcmp(words[1], "at") != 0;
  const int here = takes_part(words[5], file->me, file->all);
  if (!here && !collective) return;
  struct part part = part_of(words[4], file->me, file->all, rows, columns);
  if (!here) part.rows = 0;
  const int n = (int)(part.rows * part.columns);
  if (n > MOST_ELEMENTS) abort();
  if (write)
    fill(&part, columns, 5, values);
  else
    memset(values, 0x55, (size_t)n * sizeof *values);
  /* Rows of a part are strided: one piece a row, or one type for all. */
  int result = MPI_SUCCESS;
  MPI_Status status;
  if (strcmp(words[1], "at") == 0) {
    for (uint64_t i = 0; i < part.rows; ++i) {
      const MPI_Offset at =
          (MPI_Offset)(((part.first_row + i * part.row_step) * columns + part.first_column) * 4);
      int* row = values + i * part.columns;
      const int one =
          write ? MPI_File_write_at(file->mpiio, at, row, (int)part.columns, MPI_INT, &status)
                : MPI_File_read_at(file->mpiio, at, row, (int)part.columns, MPI_INT, &status);
      if (one != MPI_SUCCESS) result = one;
    }
  } else {
    MPI_Datatype type;
    MPI_Type_vector((int)part.rows, (int)part.columns, (int)(part.row_step * columns), MPI_INT,
                    &type);
    MPI_Type_commit(&type);
    const MPI_Offset at = (MPI_Offset)((part.first_row * columns + part.first_column) * 4);
    MPI_File_set_view(file->mpiio, n == 0 ? 0 : at, MPI_INT, n == 0 ? MPI_INT : type, "native",
                      MPI_INFO_NULL);
    result = write ? MPI_File_write_at_all(file->mpiio, 0, values, n, MPI_INT, &status)
                   : MPI_File_read_at_all(file->mpiio, 0, values, n, MPI_INT, &status);
    MPI_File_set_view(file->mpiio, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_Type_free(&type);
  }
  note_result(result == MPI_SUCCESS);
  if (!write) note_bytes(values, (size_t)n * sizeof *values);
}

int run_mpiio(const char* command, char** words) {
  struct file* file = words[0] == NULL ? NULL : &files[atoi(words[0]) & 7];
  if (strcmp(command, "mpiopen") == 0)
    open_file(words);
  else if (strcmp(command, "mpiwrite") == 0 || strcmp(command, "mpiread") == 0)
    transfer(command[3] == 'w', words);
  else if (strcmp(command, "mpisync") == 0) {
    if (file->mpiio != MPI_FILE_NULL) note_result(MPI_File_sync(file->mpiio) == MPI_SUCCESS);
  } else if (strcmp(command, "mpiclose") == 0) {
    if (file->mpiio != MPI_FILE_NULL) note_result(MPI_File_close(&file->mpiio) == MPI_SUCCESS);
  } else
    return 0;
  return 1;
}
