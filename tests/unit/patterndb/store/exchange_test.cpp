#include "patterndb/exchange/record_json.h"
#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

class Exchange : public Folder {
 protected:
  void fill(PatternDb& db) {
    must(db.add_observation(vpic_run(), "spool-1"));
    std::int64_t row = must(db.add_tuning(tuned(vpic(), "cb_nodes=2;romio_cb_write=disable")));
    Observation after = vpic_run(70, "run-2");
    after.files[0].decision_source = "exact";
    after.files[0].decision_row = row;
    after.files[0].settings = must(Settings::parse("cb_nodes=2"));
    must(db.add_observation(after, "spool-2"));
    must(db.import_json(R"({"format":"iotune-patterns","version":1,"models":[
      {"name":"m","kind":"coefficients","platform":null,"payload":"[1,2]","made_at":1}]})",
                        "models"));
  }
  std::string fault(const std::string& text) {
    Result<std::string> imported = db_.import_json(text, "site.json");
    return imported ? "" : imported.error().text();
  }
  PatternDb db_ = create(at("patterns.db"));
};

TEST_F(Exchange, NothingIsLost) {
  fill(db_);
  std::string text = must(db_.export_json());
  PatternDb other = create(at("other.db"));
  Json counts = Json::parse(must(other.import_json(text, "export")));
  EXPECT_EQ(counts["tunings"], 1);
  EXPECT_EQ(counts["observations"], 2);
  EXPECT_EQ(counts["models"], 1);
  EXPECT_EQ(must(other.export_json()), text);
}

TEST_F(Exchange, NothingIsDoubled) {
  fill(db_);
  std::string text = must(db_.export_json());
  Json counts = Json::parse(must(db_.import_json(text, "export")));
  EXPECT_EQ(counts["tunings"], 0);
  EXPECT_EQ(counts["observations"], 0);
  EXPECT_EQ(counts["models"], 0);
  EXPECT_EQ(must(db_.export_json()), text);
}

TEST_F(Exchange, RowsOfDecisionsFollowTheirTuning) {
  must(db_.add_tuning(tuned(one_dimensional(5, 4), "cb_nodes=3")));
  PatternDb other = create(at("other.db"));
  fill(other);
  must(db_.import_json(must(other.export_json()), "export"));
  Json json = Json::parse(must(db_.export_json()));
  EXPECT_EQ(json["observations"][1]["decision_row"], 2);
}

constexpr char kByHand[] = R"({
 "format": "iotune-patterns", "version": 1,
 "tunings": [{"pattern": {"descriptor": "<1D, BLOCK, 8388608>", "op": "write",
                          "element_bytes": 4, "ranks": 4, "grid": [4], "mode": "independent"},
              "platform": {"filesystem": "ext4", "mpi": "MPICH 4.0.2", "hdf5": "1.10.8"},
              "settings": {"cb_nodes": 2}, "state": "tuned", "gain": 1.2}]})";

TEST_F(Exchange, WrittenByHand) {
  ASSERT_EQ(fault(kByHand), "");
  auto row = must(db_.newest_tuning(byte_key(vpic()), local_platform()));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->settings, "cb_nodes=2");
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST_F(Exchange, FaultsNameThePlace) {
  EXPECT_EQ(fault("[1,2"), "site.json:1: not JSON (byte 5)");
  EXPECT_EQ(fault("\n\n{]"), "site.json:3: not JSON (byte 4)");
  EXPECT_EQ(fault("{}"), "site.json: /: 'format' is missing");
  EXPECT_EQ(fault(changed(kByHand, "\"version\": 1", "\"version\": 6")),
            "site.json: /version: version 6; this iotune reads 1 to 5");
  EXPECT_EQ(fault(changed(kByHand, "\"version\": 1", "\"version\": 6, \"clusters\": []")),
            "site.json: /version: version 6; this iotune reads 1 to 5");
  EXPECT_EQ(fault(changed(kByHand, "\"tunings\"", "\"tuning\"")),
            "site.json: /tuning: unknown name");
  EXPECT_EQ(fault(changed(kByHand, "\"cb_nodes\": 2", "\"cb_nodes\": 0")),
            "site.json: /tunings/0/settings: cb_nodes=0: the value is too small");
  EXPECT_EQ(fault(changed(kByHand, "\"gain\": 1.2", "\"gain\": \"1.2\"")),
            "site.json: /tunings/0/gain: a number expected");
  EXPECT_EQ(fault(changed(kByHand, "\"state\": \"tuned\"", "\"state\": \"best\"")),
            "site.json: /tunings/0/state: 'best' is no state (untrained, default-is-best, tuned, "
            "reverted, refused)");
  EXPECT_EQ(fault(changed(kByHand, "[4]", "[2,2]")),
            "site.json: /tunings/0/pattern/grid: the descriptor has 1 dimensions");
  EXPECT_EQ(fault(changed(kByHand, "\"element_bytes\": 4", "\"element_bytes\": -4")),
            "site.json: /tunings/0/pattern/element_bytes: an integer of 0 or more expected");
  EXPECT_EQ(fault(changed(kByHand, "<1D, BLOCK, 8388608>", "<2D, BLOCK, 1>")),
            "site.json: /tunings/0/pattern/descriptor: position 6: expected '('");
  EXPECT_EQ(fault(changed(kByHand, "\"settings\": {\"cb_nodes\": 2},", "")),
            "site.json: /tunings/0: tuned without settings");
  EXPECT_EQ(fault(changed(kByHand, "{\"filesystem\"", "7, \"x\": {\"filesystem\"")),
            "site.json: /tunings/0/x: unknown name");
  EXPECT_EQ(fault(changed(kByHand, "\"gain\": 1.2", "\"gain\": -1.2")),
            "site.json: /tunings/0/gain: a ratio, so 0 or more, expected");
  EXPECT_EQ(fault(changed(kByHand, "\"gain\": 1.2", "\"made_at\": 1e300")),
            "site.json: /tunings/0/made_at: not seconds since 1970");
  EXPECT_EQ(fault(changed(kByHand, "\"gain\": 1.2", "\"made_at\": 1e999")),
            "site.json: a number that no computer holds");
  EXPECT_EQ(fault(changed(kByHand, "\"cb_nodes\": 2", "\"cb_nodes\": \"2\\u0000 5\"")),
            "site.json: /tunings/0/settings: cb_nodes=2? 5: the value holds a zero byte");
  EXPECT_NE(fault(std::string(100, '[') + std::string(100, ']')).find("nested"), std::string::npos);
}

TEST_F(Exchange, UnknownIdsAreFaults) {
  fill(db_);
  Json json = Json::parse(must(db_.export_json()));
  json["tunings"][0]["pattern"] = 77;
  EXPECT_EQ(fault(json.dump()), "site.json: /tunings/0/pattern: no pattern with id 77");
}

TEST_F(Exchange, AllOrNothing) {
  PatternDb other = create(at("other.db"));
  fill(other);
  Json json = Json::parse(must(other.export_json()));
  json["observations"][1]["seconds"] = nullptr;
  std::string before = must(db_.export_json());
  EXPECT_EQ(fault(json.dump()), "site.json: /observations/1/seconds: a number expected");
  EXPECT_EQ(must(db_.export_json()), before);
}

}  // namespace
}  // namespace iotune::patterndb::testing
