#include "tuner/posix/file_layout.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <cerrno>
#include <cstring>

#include "core/os/mapped_file.h"
#include "core/os/raw_syscall.h"
#include "core/os/short_text.h"

namespace iotune::tuner {
namespace {

// Lustre's user interface (lustre_user.h), in the byte order of the host.
constexpr unsigned long kSetStripe = 0x4008669a;
constexpr std::uint32_t kLayoutV1 = 0x0BD10BD0, kLayoutV3 = 0x0BD30BD0;
constexpr std::uint32_t kComposite = 0x0BD60BD0;  // PFL: components, each with a layout
constexpr std::uint32_t kRaid0 = 1;
constexpr std::uint32_t kOverstriping = 0x200;  // Lustre 2.13; older servers refuse the layout
constexpr std::uint16_t kAnyTarget = 0xffff;
constexpr std::uint64_t kMostStripes = 2000;
constexpr std::uint32_t kLustreMagic = 0x0BD00BD0;
constexpr const char* kLustreName = "lustre.lov";

struct LustreLayout {
  std::uint32_t magic, pattern;
  std::uint8_t object_id[16];
  std::uint32_t stripe_size;
  std::uint16_t stripe_count, first_target;
};
static_assert(sizeof(LustreLayout) == 32);

// The kernel's largest extended attribute: a layout lists its objects behind the head.
constexpr std::size_t kAttributeBytes = 65536;

// Objects are made by the first open for writing that does not ask for a delay.
void give_default_layout(int fd) noexcept {
  LustreLayout fresh{};
  fresh.magic = kLayoutV1;
  fresh.first_target = kAnyTarget;
  if (ioctl(fd, kSetStripe, &fresh) == 0) return;
  ShortText<128> link;
  link << "/proc/self/fd/" << fd;
  // The file is new: nobody has locks on it that closing this descriptor could drop.
  const int again = raw::open(link.c_str(), O_WRONLY | O_CLOEXEC, 0);
  if (again >= 0) raw::close(again);
}

Reason set_lustre(int fd, FileLayout wanted) noexcept {
  LustreLayout layout{};
  layout.magic = kLayoutV1;
  layout.pattern = wanted.overstriped ? kRaid0 | kOverstriping : kRaid0;
  layout.stripe_size = static_cast<std::uint32_t>(wanted.stripe_bytes);
  layout.stripe_count = static_cast<std::uint16_t>(
      wanted.stripe_count < kMostStripes ? wanted.stripe_count : kMostStripes);
  layout.first_target = kAnyTarget;
  Reason fault = Reason::kNone;
  bool set = ioctl(fd, kSetStripe, &layout) == 0;
  if (!set && wanted.overstriped && errno != EEXIST) {
    layout.pattern = kRaid0;
    set = ioctl(fd, kSetStripe, &layout) == 0;
  }
  if (!set) {
    const bool has_one = errno == EEXIST;
    fault = has_one ? Reason::kHasALayout : Reason::kLustreRefusedIt;
    if (!has_one) give_default_layout(fd);
  }
  // The program did not ask for O_ASYNC, one of the two bits that ask for the delay.
  const int flags = fcntl(fd, F_GETFL);
  if (flags >= 0 && (flags & O_ASYNC) != 0) fcntl(fd, F_SETFL, flags & ~O_ASYNC);
  return fault;
}

bool read_lustre(const char* path, FileLayout& layout) noexcept {
  void* const bytes = private_memory(kAttributeBytes);
  if (bytes == nullptr) return false;
  const ssize_t got = getxattr(path, kLustreName, bytes, kAttributeBytes);
  LustreLayout head{};
  const bool whole = got >= static_cast<ssize_t>(sizeof head);
  if (whole) std::memcpy(&head, bytes, sizeof head);
  unmap(bytes, kAttributeBytes);
  if (!whole || (head.magic != kLayoutV1 && head.magic != kLayoutV3)) return false;
  layout = {head.stripe_count, head.stripe_size, (head.pattern & kOverstriping) != 0};
  return true;
}

bool is_lustre(const char* directory) noexcept {
  struct statfs status {};
  return statfs(directory, &status) == 0 &&
         static_cast<std::uint32_t>(status.f_type) == kLustreMagic;
}

bool has_components(const char* directory) noexcept {
  void* const bytes = private_memory(kAttributeBytes);
  if (bytes == nullptr) return true;  // not known: left alone
  std::uint32_t magic = 0;
  if (getxattr(directory, kLustreName, bytes, kAttributeBytes) >=
      static_cast<ssize_t>(sizeof magic)) {
    std::memcpy(&magic, bytes, sizeof magic);
  }
  unmap(bytes, kAttributeBytes);
  return magic == kComposite;
}

constexpr const char* kCephFile = "ceph.file.layout";
constexpr std::size_t kCephTextBytes = 256;

// The number behind `key` in "stripe_unit=65536 stripe_count=1 object_size=4194304 pool=x".
std::uint64_t number_of(const char* text, const char* key) noexcept {
  const char* const found = std::strstr(text, key);
  return found == nullptr ? 0 : parse_decimal(found + std::strlen(key));
}

Reason set_ceph(int fd, FileLayout wanted) noexcept {
  char text[kCephTextBytes] = "";
  if (fgetxattr(fd, kCephFile, text, sizeof text - 1) <= 0) return Reason::kCephTellsNoLayout;
  std::uint64_t unit = number_of(text, "stripe_unit=");
  std::uint64_t object = number_of(text, "object_size=");
  const std::uint64_t count =
      wanted.stripe_count != 0 ? wanted.stripe_count : number_of(text, "stripe_count=");
  if (wanted.stripe_bytes != 0) unit = wanted.stripe_bytes;
  if (unit == 0 || object == 0 || count == 0) return Reason::kCephTellsNoLayout;
  // Objects must be a multiple of the stripe unit.
  object = (object + unit - 1) / unit * unit;
  ShortText<128> layout;
  layout << "stripe_unit=" << unit << " stripe_count=" << count << " object_size=" << object;
  if (fsetxattr(fd, kCephFile, layout.c_str(), layout.size(), 0) == 0) return Reason::kNone;
  return errno == ENOTEMPTY ? Reason::kFileNotEmpty : Reason::kCephRefusedIt;
}

bool read_ceph(const char* path, FileLayout& layout) noexcept {
  char text[kCephTextBytes] = "";
  if (getxattr(path, kCephFile, text, sizeof text - 1) <= 0) return false;
  layout = {number_of(text, "stripe_count="), number_of(text, "stripe_unit="), false};
  return layout.stripe_count != 0;
}

// ceph-fuse reports itself as plain FUSE.
bool is_ceph(const char* directory) noexcept {
  char answer[32];
  return getxattr(directory, "ceph.dir.entries", answer, sizeof answer) >= 0;
}

}  // namespace

LayoutKind layout_kind_of(const char* directory) noexcept {
  if (is_ceph(directory)) return LayoutKind::kCeph;
  return is_lustre(directory) ? LayoutKind::kLustre : LayoutKind::kNone;
}

bool directory_has_layout(LayoutKind kind, const char* directory) noexcept {
  if (kind == LayoutKind::kNone) return false;
  const bool lustre = kind == LayoutKind::kLustre;
  if (lustre && getxattr(directory, kLustreName, nullptr, 0) > 0) return true;
  // CephFS looks upwards for it at each new file, where Lustre's mkdir copies it. The topmost
  // directory tells the file system's default: of that a site's PFL alone is somebody's choice.
  for (std::size_t length = std::strlen(directory); length > 1;) {
    while (length > 1 && directory[length - 1] == '/') --length;
    ShortText<4096> here;
    here.add(directory, length);
    while (length > 0 && directory[length - 1] != '/') --length;
    ShortText<4096> above;
    above.add(directory, length > 1 ? length - 1 : length);
    const bool topmost =
        length == 0 || !(lustre ? is_lustre(above.c_str()) : is_ceph(above.c_str()));
    if (topmost) return lustre && has_components(here.c_str());
    if (!lustre && getxattr(here.c_str(), "ceph.dir.layout", nullptr, 0) > 0) return true;
  }
  return lustre && has_components("/");
}

Reason set_layout(LayoutKind kind, int fd, FileLayout wanted) noexcept {
  return kind == LayoutKind::kLustre ? set_lustre(fd, wanted) : set_ceph(fd, wanted);
}

bool read_layout(LayoutKind kind, const char* path, FileLayout& layout) noexcept {
  return kind == LayoutKind::kLustre ? read_lustre(path, layout)
                                     : kind == LayoutKind::kCeph && read_ceph(path, layout);
}

}  // namespace iotune::tuner
