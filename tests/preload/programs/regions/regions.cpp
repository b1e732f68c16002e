// Regions that end with their scope, one of them by an exception.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "iotune.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const std::array<char, 4096> block{};
  for (int step = 1; step <= 3; ++step) {
    try {
      const iotune::Region region("step", step);
      const iotune::Region output("output");
      if (write(fd, block.data(), block.size()) < 0) return 3;
      throw std::runtime_error("out of both");
    } catch (const std::runtime_error&) {
    }
  }
  return close(fd);
}
