// Features of patterns and settings for Python: the very function that a run evaluates.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <vector>

#include "patterndb/exchange/record_json.h"
#include "patterndb/matching/features.h"
#include "python/bindings/bindings.h"
#include "python/bindings/document.h"
#include "python/bindings/errors.h"

namespace py = pybind11;

namespace {

using namespace iotune::patterndb;

FeatureQuestion read_question_of(const Node& node) {
  FeatureQuestion question;
  question.nodes = node.count_or("nodes", 1);
  question.datasets = node.count_or("datasets", 1);
  question.repeats = node.count_or("repeats", 1);
  question.striped = node.count_or("striped", 0) != 0;
  question.stripe_count = node.count_or("stripe_count", 0);
  question.stripe_bytes = node.count_or("stripe_bytes", 0);
  return question;
}

// One row for each of `settings`; nothing where the pattern has no geometry.
std::optional<std::vector<std::vector<double>>> features(const Document& pattern_of,
                                                         const std::vector<Document>& settings,
                                                         const Document& question_of) {
  using Rows = std::optional<std::vector<std::vector<double>>>;
  return taken(guarded<Rows>([&]() -> Rows {
    const Json pattern_document = parse_json(pattern_of.text, "pattern");
    const Json question_document = parse_json(question_of.text, "question");
    const Pattern pattern = read_pattern(Node(pattern_document, ""));
    const FeatureQuestion question = read_question_of(Node(question_document, ""));
    std::vector<std::vector<double>> rows;
    for (const Document& one : settings) {
      const Json members = parse_json(one.text, "settings");
      Features row{};
      if (!features_of(pattern, question, read_settings(Node(members, "")), row)) {
        return std::nullopt;
      }
      rows.emplace_back(row.begin(), row.end());
    }
    return rows;
  }));
}

}  // namespace

void bind_features(py::module_& module) {
  using namespace py::literals;
  module.def("features", &features, "pattern"_a, "settings"_a, "question"_a = py::dict(),
             "Rows of features, one for each of the settings; None: no geometry.");
  module.def("feature_names", [] {
    return std::vector<std::string>(std::begin(kFeatureNames), std::end(kFeatureNames));
  });
}
