// Containers of the log store. python/iotune/logstore/container.py gives them types.
#include <fcntl.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <stdio.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "logstore/compact/compaction.h"
#include "logstore/compact/merge_container.h"
#include "logstore/flat/attributes.h"
#include "logstore/flat/flat_copy.h"
#include "logstore/read/container.h"
#include "logstore/read/map_walk.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"

namespace py = pybind11;

namespace {

using namespace iotune::logstore;

using Column = Numbers<std::int64_t>;

// A container that is read anew where it was compacted meanwhile. Any thread may read.
class OpenContainer {
  void open() {
    container_ = std::make_unique<Container>(taken(Container::open(path_, {}, logs_)));
  }
  template <class Do>
  auto again(Do&& act) {
    constexpr int kMostTries = 100;
    const std::lock_guard lock(mutex_);
    for (int tries = 0;; ++tries) {
      auto result = act();
      if (result || tries == kMostTries || !container_->is_replaced()) {
        return taken(std::move(result));
      }
      open();
    }
  }

 public:
  OpenContainer(std::string path, bool looks_at_logs)
      : path_(std::move(path)),
        logs_(looks_at_logs ? Container::Logs::kLookAtAll : Container::Logs::kTrustMerged) {
    open();
  }
  const Container& get() const { return *container_; }

  std::string read(std::int64_t offset, std::size_t size) {
    std::string bytes(size, '\0');
    bytes.resize(
        again([&] { return container_->read(offset, std::as_writable_bytes(std::span(bytes))); }));
    return bytes;
  }
  std::int64_t copy_to(int to, std::int64_t offset, std::int64_t length, bool fill_holes) {
    const Holes holes = fill_holes ? Holes::kSmallFilled : Holes::kLeft;
    return again([&] { return copy_flat(*container_, to, offset, length, holes); });
  }

 private:
  std::string path_;
  Container::Logs logs_;
  std::mutex mutex_;
  std::unique_ptr<Container> container_;
};

py::list writers(const OpenContainer& container) {
  py::list all;
  for (const WriterReport& report : container.get().reports()) {
    all.append(py::make_tuple(report.name, report.entries, report.log_bytes, report.durable_bytes,
                              report.unplaced_bytes, report.dropped_bytes, report.missing_bytes,
                              report.index_bytes_lost, report.has_index, report.is_whole(),
                              report.is_covered));
  }
  return all;
}

py::list texts_of(const std::vector<std::string>& texts) {
  py::list all;
  for (const std::string& text : texts) all.append(text_of(text));
  return all;
}

std::int64_t single_index_bytes(const Container& container) {
  std::int64_t bytes = 0;
  for (const auto& [writer, size] : container.compaction().single_indexes) bytes += size;
  return bytes;
}

std::int64_t sum_of_live(const Container& container, bool exact) {
  const LogMap& map = container.map();
  if (!exact) return compaction_gain(container).most_live_bytes;
  std::int64_t sum = 0;
  for (const std::int64_t bytes : live_bytes(map)) sum += bytes;
  return sum;
}

class Walk {
 public:
  explicit Walk(const std::string& path)
      : container_(std::make_unique<Container>(taken(Container::open(path)))),
        walk_(std::make_unique<MapWalk>(*container_)) {
    for (const WriterReport& report : container_->reports()) names_.push_back(report.name);
  }
  bool has_times() const { return walk_->has_times(); }
  std::string head() const { return map_head(has_times()); }
  const std::vector<std::string>& names() const { return names_; }

  std::string lines(std::size_t most) {
    std::string text;
    for (const MapRow& row : rows(most)) {
      append_map_line(row, names_[row.writer], has_times(), text);
    }
    return text;
  }
  std::vector<Column> columns(std::size_t most) {
    std::vector<Column> all(4);
    for (const MapRow& row : rows(most)) {
      all[0].values.push_back(row.writer);
      all[1].values.push_back(row.offset);
      all[2].values.push_back(row.length);
      all[3].values.push_back(row.time_ns);
    }
    return all;
  }

 private:
  const std::vector<MapRow>& rows(std::size_t most) {
    rows_.clear();
    if (auto wrong = walk_->next(most, rows_)) throw CoreError(wrong->text());
    return rows_;
  }

  std::unique_ptr<Container> container_;
  std::unique_ptr<MapWalk> walk_;
  std::vector<std::string> names_;
  std::vector<MapRow> rows_;
};

py::dict compact_container(const std::string& path, double least_live, bool keeps_indexes) {
  CompactReport report;
  {
    const py::gil_scoped_release released;
    CompactOptions options;
    options.least_live = least_live;
    options.keeps_indexes = keeps_indexes;
    report = taken(compact(path, options));
  }
  py::dict all;
  all["log_bytes_before"] = report.log_bytes_before;
  all["log_bytes"] = report.log_bytes;
  all["index_bytes_before"] = report.index_bytes_before;
  all["index_bytes"] = report.index_bytes;
  all["copied_bytes"] = report.copied_bytes;
  all["removed_logs"] = report.removed_logs;
  return all;
}

void take_attributes_of(const std::string& container, int file) {
  const Descriptor directory(open(container.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int wrong = directory ? take_attributes(directory.get(), file) : -errno;
  if (wrong == 0) return;
  throw CoreError(container + ": its mode, owner and attributes cannot be given to the copy: " +
                  std::strerror(-wrong));
}

// Both names change what they stand for, at once. False where the file system cannot.
bool exchange_names(const std::string& one, const std::string& other) {
  if (renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) return false;
  throw CoreError(one + ": cannot take the place of " + other + ": " + std::strerror(errno));
}

}  // namespace

void bind_logstore(py::module_& module) {
  py::class_<OpenContainer>(module, "LogContainer")
      .def(py::init([](const std::string& path, bool looks_at_logs) {
             const py::gil_scoped_release released;
             return std::make_unique<OpenContainer>(path, looks_at_logs);
           }),
           py::arg("path"), py::arg("looks_at_logs"))
      .def_static("is_at", &Container::is_at, py::arg("path"))
      .def_property_readonly("size", [](const OpenContainer& c) { return c.get().map().size(); })
      .def_property_readonly("made_ns",
                             [](const OpenContainer& c) { return c.get().description().made_ns; })
      .def_property_readonly(
          "id", [](const OpenContainer& c) { return c.get().description().container_id; })
      .def_property_readonly("map_bytes",
                             [](const OpenContainer& c) { return c.get().map().memory_bytes(); })
      .def_property_readonly("generation",
                             [](const OpenContainer& c) { return c.get().compaction().generation; })
      .def_property_readonly(
          "merged_bytes", [](const OpenContainer& c) { return c.get().compaction().merged_bytes; })
      .def_property_readonly(
          "merged_damage",
          [](const OpenContainer& c) { return c.get().compaction().merged_damage; })
      .def_property_readonly("handle_bytes",
                             [](const OpenContainer& c) { return c.get().handle_bytes(); })
      .def_property_readonly("single_index_bytes",
                             [](const OpenContainer& c) { return single_index_bytes(c.get()); })
      .def("writers", &writers)
      .def("strangers", [](const OpenContainer& c) { return texts_of(c.get().strangers()); })
      .def("spare_files",
           [](const OpenContainer& c) { return texts_of(c.get().compaction().spare_files); })
      .def(
          "live_bytes",
          [](const OpenContainer& c, bool exact) {
            const py::gil_scoped_release released;
            return sum_of_live(c.get(), exact);
          },
          py::arg("exact"))
      .def(
          "read",
          [](OpenContainer& c, std::int64_t offset, std::size_t size) {
            std::string bytes;
            {
              const py::gil_scoped_release released;
              bytes = c.read(offset, size);
            }
            return py::bytes(bytes);
          },
          py::arg("offset"), py::arg("size"))
      .def(
          "copy_to",
          [](OpenContainer& c, int to, std::int64_t offset, std::int64_t length, bool fill_holes) {
            const py::gil_scoped_release released;
            return c.copy_to(to, offset, length, fill_holes);
          },
          py::arg("to"), py::arg("offset"), py::arg("length"), py::arg("fill_holes"));
  py::class_<Walk>(module, "LogMapWalk")
      .def(py::init([](const std::string& path) {
             const py::gil_scoped_release released;
             return std::make_unique<Walk>(path);
           }),
           py::arg("path"))
      .def_property_readonly("has_times", &Walk::has_times)
      .def_property_readonly("head", &Walk::head)
      .def_property_readonly("names", &Walk::names)
      .def(
          "lines",
          [](Walk& walk, std::size_t most) {
            std::string text;
            {
              const py::gil_scoped_release released;
              text = walk.lines(most);
            }
            return py::bytes(text);
          },
          py::arg("most"))
      .def(
          "columns",
          [](Walk& walk, std::size_t most) {
            auto all = walk.columns(most);
            return py::make_tuple(std::move(all[0]), std::move(all[1]), std::move(all[2]),
                                  std::move(all[3]));
          },
          py::arg("most"));
  module.def("compact_log_container", &compact_container, py::arg("path"), py::arg("least_live"),
             py::arg("keeps_indexes"));
  module.def("take_log_attributes", &take_attributes_of, py::arg("container"), py::arg("file"));
  module.def("exchange_names", &exchange_names, py::arg("one"), py::arg("other"));
}
