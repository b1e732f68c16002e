/* Marks regions as Caliper's macros do: linked to it, or by a plug-in that brings its own. */
#include <fcntl.h>
#include <unistd.h>

void cali_begin_region(const char* name);
void cali_end_region(const char* name);
void stand_in_report(void);

static char block[4096];

__attribute__((visibility("default"))) int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  cali_begin_region("main");
  if (write(fd, block, sizeof block) < 0) return 3;
  cali_begin_region("write");
  if (write(fd, block, sizeof block) < 0) return 3;
  cali_end_region("write");
  cali_end_region("main");
  stand_in_report();
  return close(fd);
}
