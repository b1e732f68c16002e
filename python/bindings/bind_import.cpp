// Writing traces of accesses that other tools logged. python/iotune/importing gives it types.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "recorder/call_table.h"
#include "recorder/write/access_writer.h"

namespace py = pybind11;

namespace {

using namespace iotune;
using recorder::AccessKind;
using recorder::AccessWriter;
using recorder::KeptTimes;
using recorder::NewAccess;

KeptTimes kept_times(const std::string& word) {
  if (word == "exact") return KeptTimes::kExact;
  if (word == "call") return KeptTimes::kCoded;
  if (word == "pattern") return KeptTimes::kPattern;
  throw CoreError("times are kept exact, call or pattern, not " + word);
}

class ImportWriter {
 public:
  ImportWriter(const std::string& path, const std::string& times, bool replace)
      : writer_(path, kept_times(times), replace) {
    check();
  }

  std::uint32_t add_process(const std::map<std::string, std::string>& attributes) {
    return writer_.trace().add_process(attributes);
  }
  void set_attribute(std::uint32_t process, const std::string& key, const std::string& value) {
    if (process >= writer_.trace().process_count()) throw py::index_error("no such process");
    writer_.trace().attributes(process)[key] = value;
  }

  std::uint32_t take_thread(std::uint32_t process, std::uint64_t start_ns, std::uint64_t end_ns) {
    const std::int64_t thread = writer_.take_thread(process, start_ns, end_ns);
    if (thread < 0) throw py::value_error("too many calls before it overlap it: sort the log");
    return static_cast<std::uint32_t>(thread);
  }

  // Where `thread` is negative, one that is free.
  void add(std::uint32_t process, std::int64_t thread, int kind, const std::string& path,
           std::int64_t offset, std::int64_t length, std::uint64_t start_ns, std::uint64_t end_ns,
           int layer, bool collective, std::uint8_t layers) {
    if (kind < 0 || kind > static_cast<int>(AccessKind::kSync)) throw py::value_error("no kind");
    if (layer < static_cast<int>(Layer::kMpiIo) || layer > static_cast<int>(Layer::kPosix)) {
      throw py::value_error("no layer");
    }
    NewAccess access;
    access.kind = static_cast<AccessKind>(kind);
    access.layer = static_cast<Layer>(layer);
    access.collective = collective;
    access.layers = layers;
    access.path = path;
    access.offset = offset;
    access.length = length;
    access.start_ns = start_ns;
    access.end_ns = end_ns;
    if (thread < 0) thread = take_thread(process, start_ns, end_ns);
    if (writer_.add(process, static_cast<std::uint32_t>(thread), access)) return;
    check();
    throw py::value_error("an access out of range");
  }

  // Reads and writes of POSIX, one after the other. Returns how many: less than all where one
  // cannot be, or overlaps too many calls before it.
  std::size_t add_all(const py::buffer& processes, const py::buffer& kinds,
                      const std::vector<std::string>& paths, const py::buffer& names,
                      const py::buffer& offsets, const py::buffer& lengths,
                      const py::buffer& starts, const py::buffer& ends) {
    const auto process = numbers_of(processes, "processes"), kind = numbers_of(kinds, "kinds"),
               name = numbers_of(names, "names"), offset = numbers_of(offsets, "offsets"),
               length = numbers_of(lengths, "lengths"), start = numbers_of(starts, "starts"),
               end = numbers_of(ends, "ends");
    for (const auto* column : {&kind, &name, &offset, &length, &start, &end}) {
      if (column->size() != process.size()) throw CoreError("columns differ in number");
    }
    const auto processes_known = static_cast<std::int64_t>(writer_.trace().process_count());
    for (std::size_t at = 0; at < process.size(); ++at) {
      if (process[at] < 0 || process[at] >= processes_known || name[at] < 0 ||
          static_cast<std::size_t>(name[at]) >= paths.size() || start[at] < 0 || kind[at] < 0 ||
          kind[at] > static_cast<std::int64_t>(AccessKind::kWrite)) {
        return at;
      }
      NewAccess access;
      access.kind = static_cast<AccessKind>(kind[at]);
      access.path = paths[static_cast<std::size_t>(name[at])];
      access.offset = offset[at];
      access.length = length[at];
      access.start_ns = static_cast<std::uint64_t>(start[at]);
      access.end_ns = static_cast<std::uint64_t>(end[at]);
      const auto number = static_cast<std::uint32_t>(process[at]);
      const std::int64_t thread = writer_.take_thread(number, access.start_ns, access.end_ns);
      if (thread < 0) return at;
      if (!writer_.add(number, static_cast<std::uint32_t>(thread), access)) {
        check();
        return at;
      }
    }
    return process.size();
  }

  // A call as the recorder would have written it; its numbers are FORMAT.md's.
  void add_call(std::uint32_t process, std::uint32_t thread, const std::string& name,
                std::uint8_t layers, const std::vector<std::int64_t>& keys,
                const std::vector<std::int64_t>& numbers, const std::string& text,
                std::uint64_t start_ns, std::uint64_t end_ns) {
    const recorder::CallSignature* const function = recorder::find_call(name);
    if (function == nullptr) throw py::value_error("no call is named " + name);
    recorder::NewCall call;
    call.function = static_cast<std::uint16_t>(function - recorder::call_table().data());
    call.layers = layers;
    call.keys = keys;
    call.numbers = numbers;
    call.text = text;
    call.start_ns = start_ns;
    call.duration_ns = end_ns - start_ns;
    if (writer_.trace().add(process, thread, call)) return;
    check();
    throw py::value_error("a call out of range");
  }

  void hide_mpi_positions(std::uint32_t process, const std::string& path, bool hidden) {
    if (!writer_.hide_mpi_positions(process, path, hidden)) check();
  }

  py::dict finish() {
    const recorder::WrittenTrace written = [&] {
      const py::gil_scoped_release released;
      return taken(writer_.finish());
    }();
    py::dict row;
    row["processes"] = written.processes;
    row["calls"] = written.calls;
    return row;
  }

 private:
  void check() {
    if (const auto& error = writer_.trace().error()) throw CoreError(error->text());
  }
  AccessWriter writer_;
};

}  // namespace

void bind_import(py::module_& module) {
  py::class_<ImportWriter>(module, "ImportWriter", "recorder/write/access_writer.h")
      .def(py::init<const std::string&, const std::string&, bool>(), py::arg("path"),
           py::arg("times"), py::arg("replace"))
      .def("add_process", &ImportWriter::add_process, py::arg("attributes"))
      .def("set_attribute", &ImportWriter::set_attribute, py::arg("process"), py::arg("key"),
           py::arg("value"))
      .def("take_thread", &ImportWriter::take_thread, py::arg("process"), py::arg("start_ns"),
           py::arg("end_ns"))
      .def("add", &ImportWriter::add, py::arg("process"), py::arg("thread"), py::arg("kind"),
           py::arg("path"), py::arg("offset"), py::arg("length"), py::arg("start_ns"),
           py::arg("end_ns"), py::arg("layer") = static_cast<int>(Layer::kPosix),
           py::arg("collective") = false, py::arg("layers") = 0)
      .def("add_all", &ImportWriter::add_all, py::arg("processes"), py::arg("kinds"),
           py::arg("paths"), py::arg("names"), py::arg("offsets"), py::arg("lengths"),
           py::arg("starts"), py::arg("ends"))
      .def("add_call", &ImportWriter::add_call, py::arg("process"), py::arg("thread"),
           py::arg("name"), py::arg("layers"), py::arg("keys"), py::arg("numbers"), py::arg("text"),
           py::arg("start_ns"), py::arg("end_ns"))
      .def("hide_mpi_positions", &ImportWriter::hide_mpi_positions, py::arg("process"),
           py::arg("path"), py::arg("hidden"))
      .def("finish", &ImportWriter::finish);
}
