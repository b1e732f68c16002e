// The answers of patterns that resemble one without an answer, and whether to trust the nearest.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "patterndb/matching/geometry.h"
#include "patterndb/store/pattern_db.h"

namespace iotune::patterndb {

struct Neighbour {
  Pattern pattern;
  std::string byte_key;
  TuningRow answer;
  double distance = 0;                  // from the pattern that was asked for
  std::map<std::string, double> gains;  // what it gained under settings that were tried on it
};

// What is known of a pattern and its surroundings on one platform.
struct Neighbourhood {
  Pattern pattern;
  std::map<std::string, double> gains;  // of the pattern itself
  std::vector<Neighbour> neighbours;    // nearest first
  // Where there is none: the nearest behind a wall, and how far it would be without that.
  std::string nearest_incomparable;
  double incomparable_distance = -1;
};

struct Judgement {
  const Neighbour* trusted = nullptr;  // its answer holds
  std::string why;                     // one clause, always
  double distance = -1;                // of the nearest one, -1: there is none
};

// Beyond the first distance nothing is taken over; settings that lost at some distance are not
// taken over from as far or further.
inline constexpr double kFarthest = 1.25;
Judgement judge(const Neighbourhood& neighbourhood);

}  // namespace iotune::patterndb
