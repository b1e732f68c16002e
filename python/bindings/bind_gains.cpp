// Gain models for Python: training builds what a run evaluates by the very functions of the run.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "patterndb/gains/gain_model.h"
#include "python/bindings/bindings.h"

namespace py = pybind11;

namespace {

using namespace iotune::patterndb;

using Table = std::vector<std::vector<double>>;

template <std::size_t kSize>
std::array<double, kSize> row_of(const std::vector<double>& row, const char* what) {
  if (row.size() != kSize) {
    throw std::runtime_error(std::string(what) + ": " + std::to_string(row.size()) +
                             " numbers instead of " + std::to_string(kSize));
  }
  std::array<double, kSize> found{};
  std::copy(row.begin(), row.end(), found.begin());
  return found;
}

Features features_row(const std::vector<double>& row) {
  return row_of<kFeatureCount>(row, "features");
}

Table cost_terms_of(const Table& features) {
  Table rows;
  for (const std::vector<double>& row : features) {
    const CostTerms terms = cost_terms(features_row(row));
    rows.emplace_back(terms.begin(), terms.end());
  }
  return rows;
}

Table inputs_of(const Table& with, const Table& without, const std::vector<double>& prices) {
  if (with.size() != without.size()) throw std::runtime_error("tables of different lengths");
  const Prices own = row_of<kCostTermCount>(prices, "prices");
  Table rows;
  for (std::size_t i = 0; i < with.size(); ++i) {
    const GainInputs inputs = gain_inputs(features_row(with[i]), features_row(without[i]), own);
    rows.emplace_back(inputs.begin(), inputs.end());
  }
  return rows;
}

// As the numbers of patterndb::Way.
std::vector<int> ways(const Table& with, const Table& without) {
  if (with.size() != without.size()) throw std::runtime_error("tables of different lengths");
  std::vector<int> found;
  for (std::size_t i = 0; i < with.size(); ++i) {
    found.push_back(static_cast<int>(way_of(features_row(with[i]), features_row(without[i]))));
  }
  return found;
}

GainModel parsed(const std::string& payload) {
  Result<GainModel> found = GainModel::parse(payload);
  if (!found) throw std::runtime_error(found.error().text());
  return std::move(*found);
}

// The pair of a row: features under the settings and without any.
Table gains(const GainModel& model, const Table& with, const Table& without) {
  if (with.size() != without.size()) throw std::runtime_error("tables of different lengths");
  Table rows;
  for (std::size_t i = 0; i < with.size(); ++i) {
    const PredictedGain one = model.gain(features_row(with[i]), features_row(without[i]));
    rows.push_back({one.log_gain, one.spread, one.low, one.high, one.sure});
  }
  return rows;
}

std::string out_of_range(const GainModel& model, const std::vector<double>& without) {
  const char* name = model.out_of_range(features_row(without));
  return name == nullptr ? "" : name;
}

}  // namespace

void bind_gains(py::module_& module) {
  using namespace py::literals;
  module.def("checksum", [](const py::bytes& content) { return checksum(std::string(content)); });
  module.def("pattern_feature_count", [] { return kPatternFeatureCount; });
  module.def("cost_term_names", [] {
    return std::vector<std::string>(std::begin(kCostTermNames), std::end(kCostTermNames));
  });
  module.def("cost_terms", &cost_terms_of, "features"_a, "A row of counts for each of features.");
  module.def("ways", &ways, "features"_a, "of_default"_a,
             "How bytes reach the storage: 0 piece by piece, 1 sieved, 2 exchanged, 3 striped.");
  module.def("gain_inputs", &inputs_of, "features"_a, "of_default"_a, "prices"_a,
             "What the trees see, a row for each.");
  py::class_<GainModel>(module, "GainModel", "What settings are worth, evaluated natively.")
      .def(py::init([](const py::bytes& payload) { return parsed(std::string(payload)); }),
           "payload"_a)
      .def("gains", &gains, "features"_a, "of_default"_a,
           "Rows of log_gain, spread, low, high, sure (natural logarithms).")
      .def("out_of_range", &out_of_range, "of_default"_a,
           "The first feature of the pattern outside of what was learnt; empty: none.")
      .def_property_readonly("trees", &GainModel::trees);
}
