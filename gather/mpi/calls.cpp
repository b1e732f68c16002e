// What stands in front of the MPI library's functions on files. A call on a file that is not
// gathered goes straight on. Each makes the real call exactly once, but for writes that are held.
#include "gather/mpi/calls.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "gather/mpi/gathered_file.h"
#include "gather/replaced.h"

namespace iotune::gather {
namespace {

// The form of a call with large counts, of MPI 4.
template <Name kName>
constexpr auto large_form() noexcept {
  Name<sizeof kName.text + 2> name;
  std::size_t end = 0;
  for (; kName.text[end] != 0; ++end) name.text[end] = kName.text[end];
  name.text[end] = '_';
  name.text[end + 1] = 'c';
  return name;
}
template <Name kName>
inline constexpr auto kLarge = large_form<kName>();

// All ranks are in a blocking call: everything goes out before it.
template <Name kName, typename... Arguments>
struct Meeting {
  static inline int (*real)(Word, Arguments...) = nullptr;
  static int own(Word handle, Arguments... arguments) noexcept {
    GatheredFile* const file = find_file(handle);
    const int wrong = file == nullptr ? 0 : file->flush();
    const int result = real(handle, arguments...);
    if (wrong == 0 || result != 0) return result;
    g_mpi.MPI_File_call_errhandler(handle, wrong);
    return wrong;
  }
};

// Another access of this rank, which may need what it holds: all of that goes out.
template <Name kName, typename... Arguments>
struct Alone {
  static inline int (*real)(Word, Arguments...) = nullptr;
  static int own(Word handle, Arguments... arguments) noexcept {
    if (GatheredFile* const file = find_file(handle)) file->write_out();
    return real(handle, arguments...);
  }
};

// Transfers of what is held. One of more than 2^31 elements is no small one.
template <typename Count>
ProgramBytes bytes_of(void* buffer, Count count, Word type) noexcept {
  const bool fits = count == static_cast<int>(count);
  return {buffer, fits ? static_cast<int>(count) : -1, type};
}

// The four ways of a transfer that needs no other rank. None makes the call where they are true.
bool held_at(GatheredFile& file, std::int64_t offset, const ProgramBytes& from,
             void* status) noexcept {
  return file.hold(offset, from, status);
}
bool held_next(GatheredFile& file, const ProgramBytes& from, void* status) noexcept {
  return file.hold_at_pointer(from, status);
}
bool served_at(GatheredFile& file, std::int64_t offset, const ProgramBytes& to,
               void* status) noexcept {
  return file.serve(offset, to, status);
}
bool served_next(GatheredFile& file, const ProgramBytes& to, void* status) noexcept {
  return file.serve_at_pointer(to, status);
}

// A request that is complete already, as of a transfer of so many bytes. False: MPI made none.
bool make_request(std::int64_t bytes, void* request) noexcept {
  const auto query = [](void* extra, void* status) {
    const auto count = static_cast<int>(reinterpret_cast<std::intptr_t>(extra));
    g_mpi.MPI_Status_set_cancelled(status, 0);
    return g_mpi.MPI_Status_set_elements(status, g_world.constants.byte, count);
  };
  const auto free = [](void*) { return 0; };
  const auto cancel = [](void*, int) { return 0; };
  if (g_mpi.MPI_Grequest_start(query, free, cancel, reinterpret_cast<void*>(bytes), request) != 0) {
    return false;
  }
  Word handle = 0;
  std::memcpy(&handle, request, handle_bytes(g_world.abi));
  return g_mpi.MPI_Grequest_complete(handle) == 0;
}

// At an offset: (file, offset, buffer, count, type, status).
template <Name kName, auto kDone, typename Count>
struct At {
  static inline int (*real)(Word, std::int64_t, void*, Count, Word, void*) = nullptr;
  static int own(Word handle, std::int64_t offset, void* buffer, Count count, Word type,
                 void* status) noexcept {
    GatheredFile* const file = find_file(handle);
    if (file != nullptr && kDone(*file, offset, bytes_of(buffer, count, type), status)) return 0;
    return real(handle, offset, buffer, count, type, status);
  }
};

// At the individual pointer.
template <Name kName, auto kDone, typename Count>
struct Next {
  static inline int (*real)(Word, void*, Count, Word, void*) = nullptr;
  static int own(Word handle, void* buffer, Count count, Word type, void* status) noexcept {
    GatheredFile* const file = find_file(handle);
    if (file != nullptr && kDone(*file, bytes_of(buffer, count, type), status)) return 0;
    return real(handle, buffer, count, type, status);
  }
};

// The same with a request. Where none can be made the real call moves the same bytes once more.
void* no_status() noexcept {
  return reinterpret_cast<void*>(status_layout(g_world.abi).ignored);
}
bool complete(const ProgramBytes& moved, void* request) noexcept {
  int size = 0;
  return g_mpi.MPI_Type_size(moved.type, &size) == 0 &&
         make_request(std::int64_t{moved.count} * size, request);
}

template <Name kName, auto kDone, typename Count>
struct BeginAt {
  static inline int (*real)(Word, std::int64_t, void*, Count, Word, void*) = nullptr;
  static int own(Word handle, std::int64_t offset, void* buffer, Count count, Word type,
                 void* request) noexcept {
    GatheredFile* const file = find_file(handle);
    const ProgramBytes bytes = bytes_of(buffer, count, type);
    if (file != nullptr && kDone(*file, offset, bytes, no_status()) && complete(bytes, request)) {
      return 0;
    }
    return real(handle, offset, buffer, count, type, request);
  }
};

template <Name kName, auto kDone, typename Count>
struct BeginNext {
  static inline int (*real)(Word, void*, Count, Word, void*) = nullptr;
  static int own(Word handle, void* buffer, Count count, Word type, void* request) noexcept {
    GatheredFile* const file = find_file(handle);
    const ProgramBytes bytes = bytes_of(buffer, count, type);
    if (file != nullptr && kDone(*file, bytes, no_status()) && complete(bytes, request)) return 0;
    return real(handle, buffer, count, type, request);
  }
};

struct Open {
  static inline OpenFunction* real = nullptr;
  static int own(Word comm, const char* name, int amode, Word info, Word* handle) noexcept {
    return open_and_gather(real, {comm, name, amode, info, handle});
  }
};

// Before MPI's end, in which files may be open still.
template <Name kName, typename... Arguments>
struct End {
  static inline int (*real)(Arguments...) = nullptr;
  static int own(Arguments... arguments) noexcept {
    write_out_all();
    return real(arguments...);
  }
};

struct Close {
  static inline int (*real)(Word*) = nullptr;
  static int own(Word* handle) noexcept {
    GatheredFile* const file = handle == nullptr ? nullptr : find_file(*handle);
    if (file == nullptr) return real(handle);
    int wrong = file->flush();
    const int closed = file->close();
    if (wrong == 0) wrong = closed;
    if (wrong != 0) g_mpi.MPI_File_call_errhandler(*handle, wrong);
    remove_file(file);
    delete file;
    const int result = real(handle);
    return result != 0 ? result : wrong;
  }
};

struct SetView {
  static inline int (*real)(Word, std::int64_t, Word, Word, const char*, Word) = nullptr;
  static int own(Word handle, std::int64_t displacement, Word etype, Word filetype,
                 const char* datarep, Word info) noexcept {
    GatheredFile* const file = find_file(handle);
    if (file == nullptr) return real(handle, displacement, etype, filetype, datarep, info);
    const int wrong = file->flush();
    const int result = real(handle, displacement, etype, filetype, datarep, info);
    if (result == 0) file->view_is(displacement, etype, filetype, datarep);
    file->lock_pieces_beside_holes();
    if (wrong == 0 || result != 0) return result;
    g_mpi.MPI_File_call_errhandler(handle, wrong);
    return wrong;
  }
};

struct SetAtomicity {
  static inline int (*real)(Word, int) = nullptr;
  static int own(Word handle, int atomic) noexcept {
    GatheredFile* const file = find_file(handle);
    if (file == nullptr) return real(handle, atomic);
    const int wrong = file->flush();
    const int result = real(handle, atomic);
    if (result == 0) file->atomic_is(atomic != 0);
    if (wrong == 0 || result != 0) return result;
    g_mpi.MPI_File_call_errhandler(handle, wrong);
    return wrong;
  }
};

struct Seek {
  static inline int (*real)(Word, std::int64_t, int) = nullptr;
  static int own(Word handle, std::int64_t offset, int whence) noexcept {
    GatheredFile* const file = find_file(handle);
    if (file != nullptr && common_whence(g_world.abi, whence) == kSeekEnd) file->write_out();
    return real(handle, offset, whence);
  }
};

using Offset = std::int64_t;
class Entries {
 public:
  template <typename Definition>
  void add(const char* name) noexcept {
    list_[used_++] = entry<Definition>(name);
  }
  // (file, arguments...)
  template <template <Name, typename...> typename Kind, Name kName, typename... Arguments>
  void add() noexcept {
    add<Kind<kName, Arguments...>>(kName.text);
  }
  // (file, arguments..., buffer, count, type, a status or request), and its large form
  template <template <Name, typename...> typename Kind, Name kName, typename... First>
  void add_transfer() noexcept {
    add<Kind, kName, First..., void*, int, Word, void*>();
    add<Kind, kLarge<kName>, First..., void*, Offset, Word, void*>();
  }
  // The same without the last one: the begin of a split call.
  template <template <Name, typename...> typename Kind, Name kName, typename... First>
  void add_begin() noexcept {
    add<Kind, kName, First..., void*, int, Word>();
    add<Kind, kLarge<kName>, First..., void*, Offset, Word>();
  }
  // One that is done by this rank alone, and its large form.
  template <template <Name, auto, typename> typename Kind, Name kName, auto kDone>
  void add_done() noexcept {
    add<Kind<kName, kDone, int>>(kName.text);
    add<Kind<kLarge<kName>, kDone, Offset>>(kLarge<kName>.text);
  }
  std::span<const Entry> list() const noexcept { return {list_, used_}; }

 private:
  Entry list_[96];
  std::size_t used_ = 0;
};

Entries all_entries() noexcept {
  Entries all;
  all.add<Open>("MPI_File_open");
  all.add<Close>("MPI_File_close");
  all.add<End, "MPI_Finalize">();
  all.add<End, "MPI_Abort", Word, int>();
  all.add<SetView>("MPI_File_set_view");
  all.add<SetAtomicity>("MPI_File_set_atomicity");
  all.add<Seek>("MPI_File_seek");

  all.add_done<At, "MPI_File_write_at", held_at>();
  all.add_done<Next, "MPI_File_write", held_next>();
  all.add_done<BeginAt, "MPI_File_iwrite_at", held_at>();
  all.add_done<BeginNext, "MPI_File_iwrite", held_next>();
  all.add_done<At, "MPI_File_read_at", served_at>();
  all.add_done<Next, "MPI_File_read", served_next>();
  all.add_done<BeginAt, "MPI_File_iread_at", served_at>();
  all.add_done<BeginNext, "MPI_File_iread", served_next>();

  all.add<Meeting, "MPI_File_sync">();
  all.add<Meeting, "MPI_File_set_size", Offset>();
  all.add<Meeting, "MPI_File_preallocate", Offset>();
  all.add<Meeting, "MPI_File_set_info", Word>();
  all.add<Meeting, "MPI_File_seek_shared", Offset, int>();
  all.add_transfer<Meeting, "MPI_File_read_all">();
  all.add_transfer<Meeting, "MPI_File_write_all">();
  all.add_transfer<Meeting, "MPI_File_read_at_all", Offset>();
  all.add_transfer<Meeting, "MPI_File_write_at_all", Offset>();
  all.add_transfer<Meeting, "MPI_File_read_ordered">();
  all.add_transfer<Meeting, "MPI_File_write_ordered">();
  all.add_begin<Meeting, "MPI_File_read_all_begin">();
  all.add_begin<Meeting, "MPI_File_write_all_begin">();
  all.add_begin<Meeting, "MPI_File_read_at_all_begin", Offset>();
  all.add_begin<Meeting, "MPI_File_write_at_all_begin", Offset>();
  all.add_begin<Meeting, "MPI_File_read_ordered_begin">();
  all.add_begin<Meeting, "MPI_File_write_ordered_begin">();

  all.add<Alone, "MPI_File_get_size", void*>();
  all.add_transfer<Alone, "MPI_File_iread_all">();
  all.add_transfer<Alone, "MPI_File_iwrite_all">();
  all.add_transfer<Alone, "MPI_File_iread_at_all", Offset>();
  all.add_transfer<Alone, "MPI_File_iwrite_at_all", Offset>();
  all.add_transfer<Alone, "MPI_File_read_shared">();
  all.add_transfer<Alone, "MPI_File_write_shared">();
  all.add_transfer<Alone, "MPI_File_iread_shared">();
  all.add_transfer<Alone, "MPI_File_iwrite_shared">();
  return all;
}

}  // namespace

void* in_front_of(const char* name, void* real) noexcept {
  static const Entries all = all_entries();
  for (const Entry& entry : all.list()) {
    if (std::strcmp(entry.name, name) != 0) continue;
    entry.use(real);
    return entry.own;
  }
  return real;
}

}  // namespace iotune::gather
