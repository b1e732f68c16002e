// predict_streams catalogue [small]      every row of the generators
// predict_streams nests SEED COUNT       so many drawn nests from this seed on
// predict_streams file NAME < STREAMS    int32 count, then (offset, length) pairs of int64, of each
// predict_streams many-steps SEED        long loops, sequences in turn, lists (many_steps.h)
// predict_streams times                  ns an access of some rows
//
// One JSON object a row: how many accesses each predictor said exactly before they came, and on how
// many only ours or only the other was right. Every stream meets a new predictor.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "patterns/predict/baselines/markov_predictor.h"
#include "patterns/predict/baselines/simple_predictors.h"
#include "patterns/predict/baselines/tree_predictor.h"
#include "patterns/predict/baselines/unit_predictor.h"
#include "patterns/predict/best_predictor.h"
#include "patterns/predict/nest_predictor.h"
#include "patterns/predict/recorded_plan.h"
#include "tests/bench/patterns/many_steps.h"
#include "tests/generators/catalogue.h"
#include "tests/generators/drawn_nest.h"
#include "tests/generators/transforms.h"

namespace {

using namespace iotune::patterns;
using iotune::generators::Kind;
using iotune::generators::Stream;
using iotune::generators::Workload;

using Accesses = std::vector<Extent>;

struct Score {
  std::string name;
  std::size_t bytes = 0;  // of state or model: the largest of a stream
  double seconds = 0;
  std::vector<bool> right = {};
};

double now() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

template <typename P>
void run(P& predictor, const Accesses& stream, Score& score) {
  std::vector<char> right(stream.size());
  const double began = now();
  for (std::size_t i = 0; i < stream.size(); ++i) {
    Prediction next;
    right[i] = predictor.predict({&next, 1}) == 1 && next.extent == stream[i];
    predictor.observe(stream[i]);
  }
  score.seconds += now() - began;
  score.right.insert(score.right.end(), right.begin(), right.end());
}

template <typename P>
std::function<void(const Accesses&, Score&)> fresh() {
  return [](const Accesses& stream, Score& score) {
    const auto predictor = std::make_unique<P>();
    score.bytes = sizeof(P);
    run(*predictor, stream, score);
  };
}

// Both passes: a model that was made in the first is what the second begins with.
void markov(const Accesses& stream, std::int64_t block_bytes, Score& first, Score& second) {
  std::vector<MarkovPredictor::Transition> slots(2 * stream.size() + 64);
  MarkovPredictor predictor(slots, block_bytes);
  run(predictor, stream, first);
  std::vector<std::byte> bytes(64 + predictor.transitions() * 50);
  ByteWriter model(bytes);
  if (!predictor.save(model)) std::abort();
  std::vector<MarkovPredictor::Transition> again(slots.size());
  MarkovPredictor later(again, block_bytes);
  ByteReader saved(model.written());
  if (!later.load(saved)) std::abort();
  run(later, stream, second);
  for (Score* score : {&first, &second}) {
    score->bytes =
        std::max(score->bytes, predictor.transitions() * sizeof(MarkovPredictor::Transition));
  }
}

void plan(const Accesses& stream, Score& score) {
  std::vector<std::byte> bytes(plan_bytes_limit(stream.size()));
  std::vector<std::byte> scratch(plan_scratch_bytes());
  ByteWriter writer(bytes);
  if (!write_plan(stream, scratch, writer)) std::abort();
  const auto predictor = std::make_unique<PlanPredictor>(writer.written());
  score.bytes = std::max(score.bytes, writer.bytes_used());
  run(*predictor, stream, score);
}

const char* word(Kind kind) {
  switch (kind) {
    case Kind::plain:
      return "plain";
    case Kind::nested:
      return "nested";
    case Kind::noisy:
      return "noisy";
    case Kind::unstructured:
      break;
  }
  return "unstructured";
}

// Accesses that nobody can say who knows only what came before: the first of a stream, and those by
// a step (of offset and length) that the stream has not made yet.
std::size_t unheard_of(const std::vector<Accesses>& streams) {
  std::size_t count = 0;
  for (const Accesses& stream : streams) {
    std::set<std::pair<std::int64_t, std::int64_t>> steps;
    for (std::size_t i = 0; i < stream.size(); ++i) {
      count += i == 0 || steps
                             .emplace(stream[i].offset - stream[i - 1].offset,
                                      stream[i].length - stream[i - 1].length)
                             .second
                   ? 1
                   : 0;
    }
  }
  return count;
}

// Accesses that were put between those of a nest, which is the same without noise.
std::size_t noise_in(const Accesses& stream, const Accesses& clean) {
  std::size_t met = 0;
  for (const Extent& access : stream) met += met < clean.size() && access == clean[met] ? 1 : 0;
  return stream.size() - met;
}

// What noise leaves to be said of a drawn nest.
struct NoiseBound {
  double percent = 0;
  std::size_t noise = 0;  // which nobody can say, also who knows the nest by heart
  std::size_t fresh = 0;  // which nobody can say who has to learn it, were there no noise
};

void print(const std::string& name, const std::string& kind, const std::vector<Accesses>& streams,
           const NoiseBound& bound, const std::vector<Score>& scores) {
  const std::vector<bool>& ours = scores.front().right;
  std::printf(
      "{\"row\": \"%s\", \"kind\": \"%s\", \"streams\": %zu, \"accesses\": %zu, "
      "\"unheard_of\": %zu, \"noise_percent\": %.1f, \"noise\": %zu, \"fresh\": %zu, "
      "\"predictors\": {",
      name.c_str(), kind.c_str(), streams.size(), ours.size(), unheard_of(streams), bound.percent,
      bound.noise, bound.fresh);
  for (const Score& score : scores) {
    std::size_t right = 0, ours_only = 0, other_only = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      right += score.right[i] ? 1 : 0;
      ours_only += ours[i] && !score.right[i] ? 1 : 0;
      other_only += !ours[i] && score.right[i] ? 1 : 0;
    }
    std::printf(
        "%s\"%s\": {\"right\": %zu, \"ours_only\": %zu, \"other_only\": %zu, \"bytes\": %zu, "
        "\"ns\": %.2f}",
        &score == scores.data() ? "" : ", ", score.name.c_str(), right, ours_only, other_only,
        score.bytes,
        score.seconds * 1e9 / static_cast<double>(std::max<std::size_t>(ours.size(), 1)));
  }
  std::printf("}}\n");
  std::fflush(stdout);
}

constexpr std::int64_t kBlocks[] = {512, 4096, 8192, 65536, 1 << 20};

void compare(const std::string& name, const std::string& kind, const std::vector<Accesses>& streams,
             bool sweep, const NoiseBound& bound = {}) {
  std::vector<Score> scores;
  const auto each = [&](const char* who, const std::function<void(const Accesses&, Score&)>& one) {
    Score score{.name = who};
    for (const Accesses& stream : streams) one(stream, score);
    scores.push_back(std::move(score));
  };
  each("nest", fresh<NestPredictor>());
  each("best", fresh<BestPredictor>());
  each("stride", fresh<StridePredictor>());
  each("readahead", fresh<ReadaheadPredictor>());
  each("unit", fresh<UnitPredictor>());
  each("tree", fresh<TreePredictor>());
  for (const std::int64_t block : kBlocks) {
    if (block != MarkovPredictor::kBlockBytes && !sweep) continue;
    const std::string suffix = block == MarkovPredictor::kBlockBytes
                                   ? std::string()
                                   : std::string(1, ' ').append(std::to_string(block));
    Score first{.name = "markov" + suffix};
    Score second{.name = "markov again" + suffix};
    for (const Accesses& stream : streams) markov(stream, block, first, second);
    scores.push_back(std::move(first));
    scores.push_back(std::move(second));
  }
  each("plan", plan);
  print(name, kind, streams, bound, scores);
}

NoiseBound noise_bound(const iotune::generators::DrawnNest& drawn, std::uint64_t seed,
                       const Workload& noisy, std::size_t limit) {
  NoiseBound bound{.percent = drawn.noise_percent};
  iotune::generators::DrawnNest clean = drawn;
  clean.noise_percent = 0;
  const Workload whole = iotune::generators::expand(clean, seed);
  std::size_t sum = 0;
  std::vector<std::size_t> taken;
  for (std::size_t s = 0; s < noisy.streams.size(); ++s) {
    const Accesses& stream = noisy.streams[s].accesses;
    if (sum > 0 && sum + stream.size() > limit) continue;
    sum += stream.size();
    bound.noise += noise_in(stream, whole.streams[s].accesses);
    taken.push_back(s);
  }
  // Of nests in turn each one's own steps are what has to be heard of.
  for (const auto& nest : drawn.nests) {
    clean.nests = {nest};
    Workload alone = iotune::generators::expand(clean, seed);
    std::vector<Accesses> streams;
    for (const std::size_t s : taken) streams.push_back(std::move(alone.streams[s].accesses));
    bound.fresh += unheard_of(streams);
  }
  return bound;
}

// Ranks of a workload are alike: whole streams until there are enough.
std::vector<Accesses> some_of(Workload workload, std::size_t limit) {
  std::vector<Accesses> streams;
  std::size_t sum = 0;
  for (Stream& stream : workload.streams) {
    if (sum > 0 && sum + stream.accesses.size() > limit) continue;
    sum += stream.accesses.size();
    streams.push_back(std::move(stream.accesses));
  }
  return streams;
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// CPU time of what a wrapper does a call: was this access foreseen, and what comes next.
void times() {
  const auto one = [](const char* name, const Workload& workload) {
    std::size_t sum = 0;
    std::size_t right = 0;
    const double began = cpu_seconds();
    for (const Stream& stream : workload.streams) {
      NestPredictor predictor;
      for (const Extent& access : stream.accesses) {
        right += predictor.expects(access) ? 1 : 0;
        predictor.observe(access);
      }
      sum += stream.accesses.size();
    }
    std::printf("{\"row\": \"%s\", \"ns\": %.3f, \"right\": %zu}\n", name,
                (cpu_seconds() - began) * 1e9 / static_cast<double>(sum), right);
  };
  for (const auto& row : iotune::generators::catalogue(iotune::generators::Size::table)) {
    if (row.name == "FS-TEST" || row.name == "BT-IO A" || row.name == "12 record variables" ||
        row.name == "FS-TEST, 1 % noise" || row.name == "FS-TEST, four ranks as one stream" ||
        row.name == "FS-TEST and FLASH, interleaved" || row.name == "random") {
      one(row.name.c_str(), row.make());
    }
  }
}

std::vector<Accesses> read_streams() {
  std::vector<Accesses> streams;
  std::int32_t count = 0;
  while (std::fread(&count, sizeof count, 1, stdin) == 1) {
    Accesses stream(static_cast<std::size_t>(count));
    if (std::fread(stream.data(), sizeof(Extent), stream.size(), stdin) != stream.size()) {
      std::fprintf(stderr, "predict_streams: input ends early\n");
      std::exit(2);
    }
    streams.push_back(std::move(stream));
  }
  return streams;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::size_t kLimit = 200000;
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "catalogue") {
    const bool small = argc > 2;
    using iotune::generators::Size;
    for (const auto& row : iotune::generators::catalogue(small ? Size::small : Size::table)) {
      compare(row.name, word(row.kind), some_of(row.make(), kLimit), true);
    }
  } else if (what == "nests" && argc == 4) {
    const std::uint64_t first = std::strtoull(argv[2], nullptr, 10);
    for (std::uint64_t i = 0; i < std::strtoull(argv[3], nullptr, 10); ++i) {
      const auto drawn = iotune::generators::draw_nest(first + i);
      const std::string kind = std::string(drawn.depth() > 1 ? "nested" : "plain") +
                               (drawn.interleaved() ? ", interleaved" : "") +
                               (drawn.noise_percent > 0 ? ", noisy" : "");
      constexpr std::size_t kNestLimit = 40000;
      Workload workload = iotune::generators::expand(drawn, first + i);
      const NoiseBound bound = drawn.noise_percent > 0
                                   ? noise_bound(drawn, first + i, workload, kNestLimit)
                                   : NoiseBound{};
      compare(std::to_string(first + i), kind, some_of(std::move(workload), kNestLimit), false,
              bound);
    }
  } else if (what == "file" && argc == 3) {
    compare(argv[2], "log", read_streams(), true);
  } else if (what == "many-steps" && argc == 3) {
    for (const auto& one : iotune::bench::many_steps(std::strtoull(argv[2], nullptr, 10))) {
      compare(one.name, "many steps", {one.accesses}, false, {.fresh = one.unknown});
    }
  } else if (what == "times") {
    times();
  } else {
    std::fprintf(
        stderr,
        "usage: predict_streams catalogue [small] | nests SEED COUNT | file NAME | many-steps SEED "
        "| times\n");
    return 2;
  }
}
