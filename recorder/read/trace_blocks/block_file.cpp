#include "recorder/read/trace_blocks/block_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "patterns/bytes.h"
#include "patterns/crc32c.h"
#include "recorder/read/trace_blocks/block_text.h"
#include "recorder/replaceable.h"

namespace iotune::recorder {
namespace {

// A name beside `target` that is no longer than names can be.
std::string name_beside(const std::string& target) {
  std::uint64_t drawn = 0;
  if (::getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) {
    drawn = static_cast<std::uint64_t>(::getpid());
  }
  const std::size_t slash = target.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : target.substr(0, slash + 1);
  return folder + ".iotune-" + std::to_string(drawn) + ".part";
}

}  // namespace

std::optional<Error> refusal_to_replace(const std::string& target) {
  struct stat status {};
  if (::lstat(target.c_str(), &status) != 0) return std::nullopt;
  const char* const why = why_not_replaced(status, ::geteuid());
  if (why == nullptr) return std::nullopt;
  return Error{target, std::string("is left alone: ") + why};
}

ReplacingFile::ReplacingFile(std::string target)
    : target_(std::move(target)), temporary_(name_beside(target_)) {
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd_ < 0) error_ = errno;
}

ReplacingFile::~ReplacingFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!done_ && fd_ >= 0) ::unlink(temporary_.c_str());
}

void ReplacingFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty() && error_ == 0) {
    const ssize_t wrote = ::write(fd_, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      error_ = wrote < 0 ? errno : ENOSPC;
      return;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
}

std::optional<Error> ReplacingFile::commit(bool replace) {
  if (std::optional<Error> refusal = refusal_to_replace(target_); refusal && replace) {
    return refusal;
  }
  if (error_ == 0 && ::fdatasync(fd_) != 0) error_ = errno;
  bool named = false;
  if (error_ == 0 && !replace) {
    // A link never replaces what is there; some file systems have none.
    named = ::link(temporary_.c_str(), target_.c_str()) == 0;
    if (!named && (errno == EEXIST || ::access(target_.c_str(), F_OK) == 0)) error_ = EEXIST;
  }
  if (error_ == 0 && !named && ::rename(temporary_.c_str(), target_.c_str()) != 0) error_ = errno;
  if (error_ != 0) return Error{target_, std::generic_category().message(error_)};
  done_ = !named;  // a linked file still has its temporary name
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
