#include "core/run/left_out_programs.h"

#include <link.h>

#include <cstring>
#include <initializer_list>

#include "core/link/at_start.h"
#include "core/link/loaded_objects.h"
#include "core/os/glob.h"
#include "core/os/short_text.h"
#include "core/process/process_facts.h"

namespace iotune {
namespace {

// As docs/environment.md has them. Not dd, which people measure storage with.
constexpr const char kEveryday[] =
    "sh:bash:dash:zsh:ksh:ksh93:csh:tcsh:fish:busybox:"
    "cat:tac:head:tail:tee:more:less:most:grep:egrep:fgrep:sed:awk:gawk:mawk:sort:uniq:cut:tr:wc:"
    "diff:diff3:cmp:comm:join:paste:split:find:xargs:locate:ls:du:df:stat:file:cp:mv:rm:ln:install:"
    "touch:md5sum:sha*sum:b2sum:cksum:rsync:scp:sftp:ssh:ssh-*:curl:wget:"
    "tar:bsdtar:cpio:zip:unzip:gzip:gunzip:zcat:pigz:bzip2:bunzip2:xz:unxz:xzcat:zstd:lz4:7z:7za:"
    "vi:vim:vim.*:nvim:nano:emacs:emacs-*:man:mandb:info:groff:troff:"
    "git:git-*:hg:svn:"
    "cc:c++:cpp:gcc:gcc-*:*-gcc:*-gcc-*:g++:g++-*:*-g++:*-g++-*:gfortran:gfortran-*:*-gfortran:"
    "*-gfortran-*:cc1:cc1plus:f951:lto1:lto-wrapper:collect2:as:*-as:ld:ld.*:*-ld:*-ld.*:gold:ar:"
    "ranlib:nm:strip:objdump:objcopy:readelf:clang:clang-*:clang++:clang++-*:flang:flang-*:lld:"
    "ccache:icc:icpc:icx:icpx:ifort:ifx:nvc:nvc++:nvfortran:nvcc:cicc:ptxas:rustc:cargo:"
    "make:gmake:cmake:ctest:cpack:ninja:meson:scons:bazel:autoconf:automake:m4:"
    "pip:pip3:pip3.*:pipx:conda:mamba:micromamba:uv:spack:eb:apt:apt-get:dpkg:dpkg-*:yum:dnf:rpm:"
    "sqlite3:gdb:strace:ltrace:top:htop:tmux:screen:squeue:sacct:sinfo:sbatch:scancel:qstat:qsub";

constexpr const char* kIoLibraries[] = {"libmpi", "libhdf5", "libnetcdf", "libpnetcdf"};

IOTUNE_START_CODE const char* base_name(const char* path) noexcept {
  const char* const slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// Of the script or module that Python was given; nullptr: none.
IOTUNE_START_CODE const char* python_script(const StartedProgram& program) noexcept {
  if (program.arguments == nullptr || !starts_with(base_name(program.path), "python")) {
    return nullptr;
  }
  const char* const* at = program.arguments;
  if (*at == nullptr) return nullptr;
  for (++at; *at != nullptr && **at == '-'; ++at) {
    const char* const option = *at;
    if (option[1] == 'c' || option[1] == '\0') return nullptr;
    if (option[1] == 'm') return option[2] != '\0' ? option + 2 : at[1];
    const bool has_value = (option[1] == 'W' || option[1] == 'X') && option[2] == '\0';
    if (has_value && at[1] != nullptr) ++at;
  }
  return *at == nullptr ? nullptr : base_name(*at);
}

// The path, or a folder above it.
IOTUNE_START_CODE bool matches_path(const char* glob, const char* end, const char* path) noexcept {
  if (end - glob > 1 && end[-1] == '/') --end;
  ShortText<4096> folder;
  folder << path;
  std::size_t bytes = folder.size();
  while (bytes > 0) {
    if (glob_matches(glob, end, folder.c_str())) return true;
    while (bytes > 0 && path[bytes - 1] != '/') --bytes;
    if (bytes > 0) --bytes;
    folder.clear();
    folder.add(path, bytes);
  }
  return false;
}

struct Sought {
  const char* const* names;
  std::size_t count;
  bool found;
};

int look_at(dl_phdr_info* object, std::size_t /*size*/, void* context) noexcept {
  auto& sought = *static_cast<Sought*>(context);
  if (object->dlpi_name == nullptr) return 0;
  const char* const name = base_name(object->dlpi_name);
  for (std::size_t i = 0; i < sought.count; ++i) {
    if (starts_with(name, sought.names[i])) sought.found = true;
  }
  return sought.found ? 1 : 0;
}

template <std::size_t N>
bool any_is_loaded(const char* const (&names)[N]) noexcept {
  Sought sought{names, N, false};
  visit_objects(look_at, &sought);
  return sought.found;
}

}  // namespace

IOTUNE_START_CODE bool is_listed_program(const char* globs,
                                         const StartedProgram& program) noexcept {
  if (globs == nullptr || program.path == nullptr) return false;
  const char* const script = python_script(program);
  for (const char* at = globs; *at != '\0';) {
    const char* const colon = std::strchr(at, ':');
    const char* const end = colon == nullptr ? at + std::strlen(at) : colon;
    if (end == at) {
      ++at;
      continue;
    }
    if (std::memchr(at, '/', static_cast<std::size_t>(end - at)) == nullptr) {
      if (glob_matches(at, end, base_name(program.path))) return true;
      if (script != nullptr && glob_matches(at, end, script)) return true;
    } else {
      static constinit ShortText<4096> path;
      absolute_path(program.path, path);
      if (matches_path(at, end, path.c_str()) || matches_path(at, end, program_path())) return true;
    }
    at = colon == nullptr ? end : colon + 1;
  }
  return false;
}

IOTUNE_START_CODE bool is_everyday_program(const StartedProgram& program) noexcept {
  return is_listed_program(kEveryday, program) && !io_library_is_loaded();
}

bool io_library_is_loaded() noexcept {
  return any_is_loaded(kIoLibraries);
}

bool netcdf_is_loaded() noexcept {
  static constexpr const char* kNetcdf[] = {"libnetcdf", "libpnetcdf"};
  return any_is_loaded(kNetcdf);
}

}  // namespace iotune
