// The predictors. python/iotune/patterns/predict.py gives them types and explains units.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "analyzer/streams/one_predictor.h"
#include "patterns/predict/recorded_plan.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"

namespace py = pybind11;

namespace {

using namespace iotune;
using patterns::Extent;
using patterns::Prediction;

using Column = Numbers<std::int64_t>;

class Predictor {
 public:
  Predictor(const std::string& name, std::int64_t block_bytes, std::size_t transitions,
            py::bytes earlier)
      : earlier_(std::move(earlier)), predictor_(kind_of(name), options(block_bytes, transitions)) {
    if (!predictor_.started()) throw CoreError("the earlier model is damaged or another one's");
  }

  // 1 for each access that was the next one predicted, else 0.
  Numbers<std::int32_t> observe(const py::buffer& offsets, const py::buffer& lengths) {
    const std::vector<Extent> accesses = accesses_of(offsets, lengths);
    Numbers<std::int32_t> right;
    const py::gil_scoped_release released;
    right.values.reserve(accesses.size());
    for (const Extent& access : accesses) {
      right.values.push_back(predictor_.foresaw(access) ? 1 : 0);
    }
    return right;
  }

  py::tuple predict(unsigned count) const {
    std::vector<Prediction> next(count);
    next.resize(predictor_.predict(next));
    Column offsets, lengths;
    Numbers<double> confidence;
    for (const Prediction& one : next) {
      offsets.values.push_back(one.extent.offset);
      lengths.values.push_back(one.extent.length);
      confidence.values.push_back(one.confidence);
    }
    return py::make_tuple(std::move(offsets), std::move(lengths), std::move(confidence));
  }

  std::size_t state_bytes() const { return predictor_.state_bytes(); }

 private:
  static const patterns::PredictorKind& kind_of(const std::string& name) {
    const patterns::PredictorKind* const kind = patterns::predictor_kind(name);
    if (kind == nullptr) throw CoreError("there is no predictor " + name);
    return *kind;
  }
  patterns::PredictorOptions options(std::int64_t block_bytes, std::size_t transitions) const {
    constexpr std::size_t kMostTransitions = std::size_t{1} << 26U;
    if (block_bytes < 1) throw CoreError("a block has a byte at least");
    if (transitions > kMostTransitions) throw CoreError("too many transitions");
    return {block_bytes, transitions, bytes_of(earlier_)};
  }

  py::bytes earlier_;  // a recorded plan is read from it
  analyzer::OnePredictor predictor_;
};

py::list predictor_names() {
  py::list names;
  for (const patterns::PredictorKind& kind : patterns::predictor_kinds()) {
    names.append(std::string(kind.name));
  }
  return names;
}

py::bytes record_plan(const py::buffer& offsets, const py::buffer& lengths) {
  const std::vector<Extent> accesses = accesses_of(offsets, lengths);
  std::vector<std::byte> bytes(patterns::plan_bytes_limit(accesses.size()));
  std::vector<std::byte> scratch(patterns::plan_scratch_bytes());
  patterns::ByteWriter writer(bytes);
  if (!patterns::write_plan(accesses, scratch, writer)) throw CoreError("a plan too long");
  return python_bytes(writer.written());
}

}  // namespace

void bind_predict(py::module_& module) {
  py::class_<Predictor>(module, "Predictor")
      .def(py::init<const std::string&, std::int64_t, std::size_t, py::bytes>(), py::arg("name"),
           py::arg("block_bytes"), py::arg("transitions"), py::arg("earlier"))
      .def("observe", &Predictor::observe, py::arg("offsets"), py::arg("lengths"))
      .def("predict", &Predictor::predict, py::arg("count"))
      .def("state_bytes", &Predictor::state_bytes);
  module.def("predictor_names", &predictor_names);
  module.def("record_plan", &record_plan, py::arg("offsets"), py::arg("lengths"));
}
