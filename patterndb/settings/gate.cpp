#include "patterndb/settings/gate.h"

#include "patterndb/settings/proofs.h"
#include "patterndb/store/places.h"

namespace iotune::patterndb {

namespace {

bool needs_mpi(const Parameter& parameter) {
  return parameter.layer == ParameterLayer::kMpiioHint;
}

bool acts_over_mpi_alone(const Parameter& parameter) {
  const std::string name = parameter.name;
  return needs_mpi(parameter) || name == "coll_metadata_write" ||
         name == "dxpl_mpio_collective_opt";
}

// Of one decision.
class Gate {
 public:
  Gate(const Question& question, const Places& places, bool forced)
      : question_(question), places_(places), forced_(forced) {}

  GateAnswer ask(const std::string& name, const std::string& value) {
    const Parameter* const parameter = find_parameter(name.c_str());
    if (parameter == nullptr) return {Known::kUnknown, false, "no parameter of iotune"};
    // What applies it says so where there is no MPI-IO, and no HDF5.
    if (question_.mpi.empty() && acts_over_mpi_alone(*parameter)) {
      return {Known::kHarmless, false, ""};
    }
    const std::string of = value_class(name, value);
    const Library mpiio = mpi_io_of_question(*parameter);
    const Library hdf5{question_.mpi.empty() ? kSerialHdf5 : kHdf5, question_.hdf5};
    const Library* const library = library_of(*parameter, mpiio, hdf5);
    const Verdict verdict = known_of(library == nullptr ? Library() : *library, name, of);
    if (verdict.known == Known::kBad) {
      return {verdict.known, false, "known bad with " + library->text() + ": " + verdict.because};
    }
    if (verdict.known != Known::kUnknown || library == nullptr) return {verdict.known, false, ""};
    if (file_layer_named(question_.layer) != FileLayer::kHdf5 && library == &hdf5) {
      return {Known::kUnknown, false, ""};
    }
    const std::optional<bool> here = proof(*parameter, of, mpiio);
    if (here && *here) return {Known::kUnknown, true, ""};
    if (here) return {Known::kBad, false, "wrong bytes were seen here with " + library->text()};
    if (forced_) return {Known::kUnknown, false, ""};
    return {
        Known::kUnknown, false,
        "not proven for " +
            (library->version.empty() ? library->name + " of no known version" : library->text()) +
            ": iotune prove"};
  }

 private:
  Library mpi_io_of_question(const Parameter& parameter) {
    // Which of Open MPI's two it is costs time: asked only where it matters.
    if (needs_mpi(parameter) && question_.mpi_io.empty() && question_.ask_mpi_io != nullptr) {
      const char* const name = question_.ask_mpi_io(question_.file.c_str());
      if (name != nullptr) asked_mpi_io_ = name;
    }
    return mpiio_library(question_.mpi,
                         question_.mpi_io.empty() ? asked_mpi_io_ : question_.mpi_io);
  }

  // Whether a proof of this very platform passed; nothing where none was made.
  std::optional<bool> proof(const Parameter& parameter, const std::string& of,
                            const Library& mpiio) {
    Proof wanted;
    wanted.filesystem = question_.filesystem.empty() ? filesystem_of(question_.file)
                                                     : canonical_filesystem(question_.filesystem);
    wanted.mpi = question_.mpi;
    wanted.mpi_io = needs_mpi(parameter) ? mpiio.name : "";
    wanted.hdf5 = needs_mpi(parameter) ? "" : question_.hdf5;
    wanted.host_class = host_class();
    wanted.parameter = parameter.name;
    wanted.value_class = of;
    wanted.nodes = question_.nodes;
    // The user's own before the site's.
    std::optional<bool> passed = outcome_of(proofs_in(places_.database), wanted);
    for (const std::string& database : places_.lower) {
      if (!passed) passed = outcome_of(proofs_in(database), wanted);
    }
    return passed;
  }

  const Question& question_;
  const Places& places_;
  bool forced_;
  std::string asked_mpi_io_;
};

// Collective writes become each rank's own: strided ones are then sieved by all ranks at once,
// unless that is switched off too.
bool unjoins_writes(const std::string& name, const std::string& value) {
  return (name == "romio_cb_write" && value == "disable") ||
         (name == "romio_lustre_coll_threshold" && value_class(name, value) != "0") ||
         (name == "dxpl_mpio_collective_opt" && value == "individual");
}

bool is_sieving(const Settings& settings) {
  const auto found = settings.values().find("romio_ds_write");
  return found == settings.values().end() || found->second != "disable";
}

constexpr char kSieved[] = "romio_ds_write";
constexpr char kWouldSieve[] =
    "without romio_ds_write=disable all ranks' writes would be sieved at once, which is ";

RefusedSetting refusal(const GateAnswer& answer, const std::string& name, const std::string& value,
                       const std::string& prefix, const std::string& unproven_name,
                       const std::string& unproven_value) {
  const bool provable = answer.known == Known::kUnknown;
  return {name, value, prefix + answer.reason, provable ? unproven_name : "",
          provable ? unproven_value : ""};
}

Settings kept(Gate& gate, const Settings& settings, std::vector<RefusedSetting>& refused) {
  Settings right;
  for (const auto& [name, value] : settings.values()) {
    const GateAnswer answer = gate.ask(name, value);
    if (answer.reason.empty()) {
      right.add(name, value);
    } else {
      refused.push_back(refusal(answer, name, value, "", name, value));
    }
  }
  return right;
}

}  // namespace

void pass_gate(const Question& question, const Places& places, Decision& decision) {
  Gate gate(question, places, decision.forced);
  decision.settings = kept(gate, decision.settings, decision.refused);
  std::vector<VariableSetting> of_variables;
  for (VariableSetting& one : decision.of_variables) {
    const GateAnswer answer = gate.ask(one.name, one.value);
    if (answer.reason.empty()) {
      of_variables.push_back(std::move(one));
    } else {
      decision.refused.push_back(
          refusal(answer, one.name, one.value, "of " + one.variable + ": ", one.name, one.value));
    }
  }
  decision.of_variables = std::move(of_variables);
  decision.gated = true;
  bool unjoins = false;
  for (const auto& [name, value] : decision.settings.values()) {
    unjoins = unjoins || unjoins_writes(name, value);
  }
  if (!unjoins) return;
  const GateAnswer sieved = gate.ask(kSieved, "enable");
  decision.sieves = sieved.reason.empty();
  if (decision.sieves || !is_sieving(decision.settings)) return;
  Settings right;
  for (const auto& [name, value] : decision.settings.values()) {
    if (unjoins_writes(name, value)) {
      decision.refused.push_back(refusal(sieved, name, value, kWouldSieve, kSieved, "enable"));
    } else {
      right.add(name, value);
    }
  }
  decision.settings = right;
}

GateAnswer ask_gate(const Question& question, const Places& places, const std::string& name,
                    const std::string& value) {
  return Gate(question, places, false).ask(name, value);
}

}  // namespace iotune::patterndb
