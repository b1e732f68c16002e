// A file that is read at offsets and never mapped: somebody may truncate it meanwhile, and a
// load from a mapping would then be a SIGBUS in the program that asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/files/descriptor.h"
#include "recorder/read/result.h"

namespace iotune::recorder {

class InputFile {
 public:
  static Result<InputFile> open(const std::string& path);
  // Bytes of the file of that name that were read already.
  static InputFile of_bytes(std::string path, std::vector<std::byte> bytes);

  const std::string& path() const { return path_; }
  // At this moment: the file may be growing.
  std::uint64_t size() const;
  // The bytes that are there, fewer only at the end of the file or on an error.
  std::size_t read(std::uint64_t offset, std::span<std::byte> to) const;

 private:
  InputFile(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  Descriptor file_;
  std::vector<std::byte> bytes_;  // where it is none
};

}  // namespace iotune::recorder
