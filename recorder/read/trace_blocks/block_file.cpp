#include "recorder/read/trace_blocks/block_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

#include "patterns/bytes.h"
#include "patterns/crc32c.h"
#include "recorder/read/trace_blocks/block_text.h"
#include "recorder/replaceable.h"

namespace iotune::recorder {

std::optional<Error> refusal_to_replace(const std::string& target) {
  struct stat status {};
  if (::lstat(target.c_str(), &status) != 0) return std::nullopt;
  const char* const why = why_not_replaced(status, ::geteuid());
  if (why == nullptr) return std::nullopt;
  return Error{target, std::string("is left alone: ") + why};
}

void ReplacingFile::write(std::span<const std::byte> bytes) {
  file_.write(bytes.data(), bytes.size());
}

std::optional<Error> ReplacingFile::commit(bool replace) {
  if (std::optional<Error> refusal = refusal_to_replace(target_); refusal && replace) {
    return refusal;
  }
  file_.sync();
  const auto how = replace ? FreshFile::Name::kReplaced : FreshFile::Name::kFree;
  const auto error = static_cast<int>(-file_.take_name(target_.c_str(), how));
  if (error != 0) return Error{target_, std::generic_category().message(error)};
  return std::nullopt;
}

void write_trace_head(ReplacingFile& file) {
  std::byte head[kTraceHeadBytes];
  patterns::ByteWriter writer(head);
  writer.raw(kTraceMagic, sizeof kTraceMagic - 1);
  writer.u32le(kFormatVersion);
  file.write(head);
}

void write_block(ReplacingFile& file, BlockType type, std::span<const std::byte> payload) {
  std::byte head[kBlockHeadBytes];
  patterns::ByteWriter writer(head);
  writer.u32le(kBlockMagic);
  writer.u32le(static_cast<std::uint32_t>(type));
  writer.u32le(static_cast<std::uint32_t>(payload.size()));
  writer.u32le(patterns::crc32c(payload.data(), payload.size(), patterns::crc32c(head + 4, 8)));
  file.write(head);
  file.write(payload);
  static constexpr std::byte kZeros[kBlockAlignment] = {};
  file.write(std::span(kZeros).first((kBlockAlignment - payload.size() % kBlockAlignment) %
                                     kBlockAlignment));
}

void write_text_block(ReplacingFile& file, BlockType type, const Attributes& attributes) {
  const std::string text = block_text(attributes);
  write_block(file, type, std::as_bytes(std::span(text)));
}

}  // namespace iotune::recorder
