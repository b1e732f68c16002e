#include "recorder/write/access_writer.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "recorder/call_table.h"

namespace iotune::recorder {
namespace {

constexpr std::size_t kMostThreads = 4096;
constexpr std::size_t kMostOpenBytes = 64U << 20U, kEntryBytes = 128;
constexpr std::int64_t kCreateReadWrite = O_RDWR | O_CREAT;
constexpr std::int64_t kModeCreate = 1, kModeReadWrite = 8;  // MPI-IO's, as FORMAT.md has them
constexpr std::int64_t kUnknownView = -1, kAllOfIt = 0;

// A note is made inside of the call that it is about, which does not count as around it.
std::uint8_t noted_in(std::uint8_t layers, Layer own) {
  if (layers == 0) return 0;
  return static_cast<std::uint8_t>(layers | 1U << static_cast<unsigned>(own));
}

}  // namespace

AccessWriter::Process& AccessWriter::process(std::uint32_t number) {
  if (number >= processes_.size()) processes_.resize(number + 1);
  return processes_[number];
}

std::int64_t AccessWriter::take_thread(std::uint32_t number, std::uint64_t start_ns,
                                       std::uint64_t end_ns) {
  std::vector<std::uint64_t>& threads = process(number).free_from_ns;
  const auto found = std::find_if(threads.begin(), threads.end(),
                                  [&](std::uint64_t free) { return free <= start_ns; });
  if (found != threads.end()) {
    *found = end_ns;
    return found - threads.begin();
  }
  if (threads.size() == kMostThreads) return -1;
  threads.push_back(end_ns);
  return static_cast<std::int64_t>(threads.size() - 1);
}

std::string AccessWriter::file_key(std::uint32_t thread, const NewAccess& access) {
  std::string key(1, static_cast<char>(access.layer));
  key.append(reinterpret_cast<const char*>(&thread), sizeof thread);
  return key.append(access.path);
}

bool AccessWriter::view(std::uint32_t number, std::uint32_t thread, const OpenFile& file,
                        bool hidden, std::uint64_t at_ns, std::uint8_t layers) {
  const std::int64_t data = hidden ? 0 : 1;
  return call(number, thread, CallNumber::kiotune_view, layers, {},
              {file.handle, 0, 1, data, data, hidden ? kUnknownView : kAllOfIt, 0}, {}, at_ns,
              at_ns);
}

bool AccessWriter::hide_mpi_positions(std::uint32_t number, std::string_view path, bool hidden) {
  Process& own = process(number);
  if (hidden) {
    own.hidden.emplace(path);
  } else {
    own.hidden.erase(std::string(path));
  }
  NewAccess any;
  any.layer = Layer::kMpiIo;
  any.path = path;
  for (std::uint32_t thread = 0; thread < own.free_from_ns.size(); ++thread) {
    const auto found = own.open.find(file_key(thread, any));
    if (found == own.open.end()) continue;
    const std::uint64_t at = std::max(found->second.last_end_ns, own.free_from_ns[thread]);
    if (!view(number, thread, found->second, hidden, at, 0)) return false;
  }
  return true;
}

bool AccessWriter::call(std::uint32_t number, std::uint32_t thread, CallNumber function,
                        std::uint8_t layers, std::initializer_list<std::int64_t> keys,
                        std::initializer_list<std::int64_t> numbers, std::string_view text,
                        std::uint64_t start_ns, std::uint64_t end_ns) {
  NewCall call;
  call.function = static_cast<std::uint16_t>(function);
  call.layers = layers;
  call.keys = keys;
  call.numbers = numbers;
  call.text = text;
  call.start_ns = start_ns;
  call.duration_ns = end_ns - start_ns;
  return trace_.add(number, thread, call);
}

AccessWriter::OpenFile* AccessWriter::opened(std::uint32_t number, std::uint32_t thread,
                                             const NewAccess& access) {
  Process& own = process(number);
  const auto [found, added] = own.open.try_emplace(file_key(thread, access));
  OpenFile& file = found->second;
  if (!added) return &file;
  open_bytes_ += found->first.size() + kEntryBytes;
  // What an access makes necessary takes no time of its own.
  const std::uint64_t end = access.kind == AccessKind::kOpen ? access.end_ns : access.start_ns;
  const std::string_view path = access.path;
  file.number = own.next_file++;
  file.last_end_ns = end;
  bool good = false;
  if (access.layer == Layer::kMpiIo) {
    const std::int64_t handle = file.handle = own.next_handle++;
    good = call(number, thread, CallNumber::kMPI_File_open, access.layers, {},
                {0, kModeCreate | kModeReadWrite, 0, handle, 0}, path, access.start_ns, end) &&
           call(number, thread, CallNumber::kiotune_file, access.layers, {file.number},
                {handle, static_cast<std::int64_t>(Layer::kMpiIo)}, path, end, end);
    if (good && own.hidden.contains(std::string(path))) {
      good = view(number, thread, file, true, end, access.layers);
    }
  } else {
    if (own.free_descriptors.empty()) {
      file.handle = own.next_descriptor++;
    } else {
      file.handle = own.free_descriptors.back();
      own.free_descriptors.pop_back();
    }
    if (access.layer == Layer::kStdio) {
      const std::string path_and_mode = std::string(path) + '\0' + "r+";
      good = call(number, thread, CallNumber::kfopen, access.layers, {}, {file.handle},
                  path_and_mode, access.start_ns, end);
    } else {
      good = call(number, thread, CallNumber::kopen, access.layers, {},
                  {kCreateReadWrite, 0, file.handle}, path, access.start_ns, end);
    }
    good = good && call(number, thread, CallNumber::kiotune_file,
                        noted_in(access.layers, access.layer), {file.number},
                        {file.handle, static_cast<std::int64_t>(Layer::kPosix)}, path, end, end);
  }
  return good ? &file : nullptr;
}

bool AccessWriter::close(std::uint32_t number, std::uint32_t thread, const std::string& key,
                         std::uint8_t layers, std::uint64_t start_ns, std::uint64_t end_ns) {
  Process& own = process(number);
  const auto found = own.open.find(key);
  if (found == own.open.end()) return true;
  const OpenFile file = found->second;
  open_bytes_ -= key.size() + kEntryBytes;
  own.open.erase(found);
  const auto layer = static_cast<Layer>(key.front());
  if (layer == Layer::kMpiIo) {
    return call(number, thread, CallNumber::kMPI_File_close, layers, {}, {file.handle, 0}, {},
                start_ns, end_ns);
  }
  own.free_descriptors.push_back(file.handle);
  return call(number, thread, layer == Layer::kStdio ? CallNumber::kfclose : CallNumber::kclose,
              layers, {file.handle, file.number}, {0}, {}, start_ns, end_ns);
}

bool AccessWriter::add(std::uint32_t number, std::uint32_t thread, const NewAccess& access) {
  if (access.offset < 0 || access.length < 0 || access.end_ns < access.start_ns) return false;
  if (access.kind == AccessKind::kClose) {
    std::string key = file_key(thread, access);
    const Process& own = process(number);
    // The thread that closes a file need not be the one that used it.
    for (std::uint32_t other = 0; !own.open.contains(key) && other < own.free_from_ns.size();
         ++other) {
      key = file_key(other, access);
    }
    return close(number, thread, key, access.layers, access.start_ns, access.end_ns);
  }
  if (open_bytes_ > kMostOpenBytes) {
    for (std::uint32_t each = 0; each < processes_.size(); ++each) {
      if (!close_all(each)) return false;
    }
  }
  OpenFile* const file = opened(number, thread, access);
  if (file == nullptr) return false;
  if (access.kind == AccessKind::kOpen) return true;
  file->last_end_ns = std::max(file->last_end_ns, access.end_ns);
  const bool write = access.kind == AccessKind::kWrite;
  if (access.kind == AccessKind::kSync) return sync(number, thread, *file, access);
  if (access.layer == Layer::kMpiIo) {
    const CallNumber function = write ? (access.collective ? CallNumber::kMPI_File_write_at_all
                                                           : CallNumber::kMPI_File_write_at)
                                      : (access.collective ? CallNumber::kMPI_File_read_at_all
                                                           : CallNumber::kMPI_File_read_at);
    // The type is not known: bytes.
    return call(number, thread, function, access.layers, {},
                {file->handle, access.offset, access.length, 0, 0, 1}, {}, access.start_ns,
                access.end_ns);
  }
  if (access.layer == Layer::kStdio) {
    // Items of one byte; their place and bytes stand behind the result.
    return call(number, thread, write ? CallNumber::kfwrite : CallNumber::kfread, access.layers,
                {file->handle, file->number},
                {1, access.length, access.length, access.offset, access.length}, {},
                access.start_ns, access.end_ns);
  }
  return call(number, thread, write ? CallNumber::kpwrite : CallNumber::kpread, access.layers,
              {file->handle, file->number}, {access.length, access.offset, access.length}, {},
              access.start_ns, access.end_ns);
}

bool AccessWriter::sync(std::uint32_t number, std::uint32_t thread, const OpenFile& file,
                        const NewAccess& access) {
  if (access.layer == Layer::kMpiIo) {
    return call(number, thread, CallNumber::kMPI_File_sync, access.layers, {}, {file.handle, 0}, {},
                access.start_ns, access.end_ns);
  }
  const bool stream = access.layer == Layer::kStdio;
  return call(number, thread, stream ? CallNumber::kfflush : CallNumber::kfsync, access.layers,
              {file.handle, file.number}, {0}, {}, access.start_ns, access.end_ns);
}

bool AccessWriter::close_all(std::uint32_t number) {
  std::vector<std::pair<std::uint64_t, std::string>> left;
  for (const auto& [key, file] : processes_[number].open) left.emplace_back(file.last_end_ns, key);
  std::sort(left.begin(), left.end());
  const auto& threads = processes_[number].free_from_ns;
  for (const auto& [end, key] : left) {
    std::uint32_t thread = 0;
    std::memcpy(&thread, key.data() + 1, sizeof thread);
    // Nothing of the thread may end later than what follows it.
    const std::uint64_t at = thread < threads.size() ? std::max(end, threads[thread]) : end;
    if (!close(number, thread, key, 0, at, at)) return false;
  }
  return true;
}

Result<WrittenTrace> AccessWriter::finish() {
  for (std::uint32_t number = 0; number < processes_.size(); ++number) {
    if (!close_all(number)) break;
  }
  return trace_.finish();
}

}  // namespace iotune::recorder
