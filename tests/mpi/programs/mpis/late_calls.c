/* Opens FILE on all ranks and closes it: late_calls FILE [STEPS], a character each:
 *   c  a collective call: each rank its 100 bytes, in the first kilobytes
 *   d  the working directory becomes the one below, `elsewhere`
 *   i  an independent call of each rank: 50 bytes, behind those
 * The file is closed whatever stood there, so that "" makes no call at all. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

enum { COLLECTIVE = 100, ALONE = 50, BEHIND = 4096 };

static void need(int failed) {
  if (failed) MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  int rank;
  char bytes[COLLECTIVE];
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  memset(bytes, 'a' + rank, sizeof bytes);
  need(argc < 2);
  need(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                     &file) != 0);
  for (const char* step = argc < 3 ? "" : argv[2]; *step != '\0'; step++) {
    const MPI_Offset collective = rank * COLLECTIVE, alone = BEHIND + rank * ALONE;
    if (*step == 'd') need(chdir("elsewhere") != 0);
    if (*step == 'c') {
      need(MPI_File_write_at_all(file, collective, bytes, COLLECTIVE, MPI_BYTE,
                                 MPI_STATUS_IGNORE) != 0);
    }
    if (*step == 'i')
      need(MPI_File_write_at(file, alone, bytes, ALONE, MPI_BYTE, MPI_STATUS_IGNORE) != 0);
  }
  need(MPI_File_close(&file) != 0);
  MPI_Finalize();
  return 0;
}
