#include "fuse/options.h"

#include <charconv>
#include <cstdio>

namespace iotune::fuse {
namespace {

bool complain(const char* what, const std::string& value) {
  std::fprintf(stderr, "iotune: %s: %s\n", value.c_str(), what);
  return false;
}

bool read_number(const std::string& name, const std::string& text, std::uint64_t& to) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, to);
  return (error == std::errc() && stop == end) || complain("no whole number", name + "=" + text);
}

// "0.1:2.5", the share of requests and the power law's exponent.
bool read_tail(const std::string& argument, const std::string& text, prefetch::LatencyTail& to) {
  const char* const end = text.data() + text.size();
  const auto share = std::from_chars(text.data(), end, to.share);
  if (share.ec == std::errc() && share.ptr != end && *share.ptr == ':') {
    const auto exponent = std::from_chars(share.ptr + 1, end, to.exponent);
    if (exponent.ec == std::errc() && exponent.ptr == end && to.share >= 0 && to.share <= 1 &&
        to.exponent > 1) {
      return true;
    }
  }
  return complain("SHARE:EXPONENT is wanted, 0 to 1 and above 1", argument);
}

// As IOTUNE_PREFETCH names them.
bool read_predictor(const std::string& name, const patterns::PredictorKind*& to) {
  constexpr const char* kNames[][2] = {
      {"pattern", "nest"}, {"he2013", "unit"}, {"markov", "markov"}, {"recorded", "recorded"}};
  for (const auto& [said, kind] : kNames) {
    if (name == said) to = patterns::predictor_kind(kind);
  }
  return to != nullptr || name == "none" ||
         complain("none of none, pattern, he2013, markov, recorded", "--prefetch=" + name);
}

}  // namespace

bool read_options(const std::vector<std::string>& arguments, Options& options) {
  std::vector<std::string> places;
  for (const std::string& argument : arguments) {
    if (!argument.starts_with("--")) {
      places.push_back(argument);
      continue;
    }
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    bool good = true;
    std::uint64_t number = 0;
    if (name == "--trace") {
      options.trace = value;
    } else if (name == "--replace") {
      options.replace = true;
    } else if (name == "--latency-ns") {
      good = read_number(name, value, options.latency_ns);
    } else if (name == "--latency-tail") {
      good = read_tail(argument, value, options.tail);
    } else if (name == "--metadata-latency-ns") {
      good = read_number(name, value, options.metadata_latency_ns);
    } else if (name == "--bytes-per-second") {
      good = read_number(name, value, options.bytes_per_second);
    } else if (name == "--threads") {
      good = read_number(name, value, number);
      if (good && (number == 0 || number > 1024)) good = complain("1 to 1024", argument);
      options.threads = static_cast<unsigned>(number);
    } else if (name == "--prefetch") {
      good = read_predictor(value, options.predictor);
    } else if (name == "--prefetch-bytes") {
      good = read_number(name, value, options.prefetch_bytes);
    } else if (name == "--direct") {
      options.direct = true;
    } else if (name == "--logstore") {
      options.logstore = true;
    } else if (name == "--allow-other") {
      options.allow_other = true;
    } else {
      good = complain("unknown option", argument);
    }
    if (!good) return false;
  }
  if (places.size() != 2) return complain("the folders MOUNT and ROOT are wanted", "iotune-fuse");
  options.mount = places[0];
  options.root = places[1];
  return true;
}

}  // namespace iotune::fuse
