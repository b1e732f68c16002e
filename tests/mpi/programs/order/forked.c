/* The parent writes for the child, and the child for the parent: before the
 * fork and behind the wait, or while both run. One rank. */
#include <sys/wait.h>

#include "order.h"

int main(int argc, char** argv) {
  const int ordered = is_ordered(argc, argv);
  start(&argc, &argv);
  const int file = open_file(argv[2]);
  if (ordered) {
    write_bytes(file, 0);
    fsync(file);
  }
  const pid_t child = fork();
  if (child == 0) {
    const int own = open_file(argv[2]);
    read_bytes(own, 0);
    write_bytes(own, 64);
    fsync(own);
    close(own);
    _exit(0);
  }
  MUST(child > 0);
  if (!ordered) {
    write_bytes(file, 0);
    fsync(file);
    read_bytes(file, 64);
  }
  MUST(waitpid(child, NULL, 0) == child);
  if (ordered) read_bytes(file, 64);
  close(file);
  MPI_Finalize();
  return 0;
}
