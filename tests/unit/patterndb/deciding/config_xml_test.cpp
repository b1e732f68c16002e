// Each known fault of H5Tuner's own reader has a test here.
#include "patterndb/exchange/config_xml.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <vector>

#include "tests/unit/patterndb/fixtures.h"

namespace iotune::patterndb::testing {
namespace {

class Xml : public Folder {
 protected:
  std::string settings(const std::string& text, const std::string& file = "/data/vpic0.h5") {
    write_file(path_, text);
    Result<Config> config = read_config(path_, file);
    return config ? config->settings.text() : config.error().text();
  }
  std::string middleware(const std::string& leaves, const std::string& file = "/data/vpic0.h5") {
    return settings("<Parameters><Middleware_Layer>" + leaves + "</Middleware_Layer></Parameters>",
                    file);
  }
  std::string path_ = at("config.xml");
};

// Reads that really open the XML.
class Kept : public Xml {
 protected:
  void write_long_ago(const std::string& leaves) {
    write_file(path_,
               "<Parameters><Middleware_Layer>" + leaves + "</Middleware_Layer></Parameters>");
    const struct timespec then = {time(nullptr) - 60, 0};
    const struct timespec both[] = {then, then};
    ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), both, 0), 0);
  }
  std::string read(const std::string& file) {
    Result<Config> config = read_config(path_, file);
    return config ? config->settings.text() : config.error().text();
  }
  int opens(const std::vector<std::string>& files) {
    const int watch = inotify_init1(IN_NONBLOCK);
    inotify_add_watch(watch, path_.c_str(), IN_OPEN);
    for (const std::string& file : files) read(file);
    alignas(inotify_event) char events[4096];
    const ssize_t bytes = ::read(watch, events, sizeof events);
    close(watch);
    int count = 0;
    for (ssize_t at = 0; at < bytes;) {
      const auto* event = reinterpret_cast<const inotify_event*>(events + at);
      at += static_cast<ssize_t>(sizeof *event + event->len);
      ++count;
    }
    return count;
  }
};

TEST_F(Kept, IsReadOnceForAllFiles) {
  write_long_ago("<cb_nodes>4</cb_nodes>");
  // The kernel joins equal events: one file after the other.
  EXPECT_EQ(opens({"/data/a.h5"}), 1);
  EXPECT_EQ(opens({"/data/a.h5"}), 0);
  EXPECT_EQ(opens({"/data/b.h5"}), 0);
  EXPECT_EQ(read("/data/c.h5"), "cb_nodes=4");
  // Other content of the same size, at the same time by its own word.
  usleep(20000);
  write_long_ago("<cb_nodes>8</cb_nodes>");
  EXPECT_EQ(opens({"/data/a.h5"}), 1);
  EXPECT_EQ(read("/data/a.h5"), "cb_nodes=8");
  // Gone.
  unlink(path_.c_str());
  EXPECT_NE(read("/data/a.h5").find("No such file"), std::string::npos);
}

TEST_F(Kept, IsReadAnewWhereItNamesFilesOrIsFresh) {
  write_long_ago("<cb_nodes FileName=\"a.h5\">4</cb_nodes>");
  EXPECT_EQ(read("/data/a.h5"), "cb_nodes=4");
  EXPECT_EQ(read("/data/b.h5"), "");
  EXPECT_EQ(opens({"/data/a.h5"}), 1);
  middleware("<cb_nodes>2</cb_nodes>");
  EXPECT_EQ(opens({"/data/a.h5"}), 1);
  EXPECT_EQ(middleware("<cb_nodes>3</cb_nodes>"), "cb_nodes=3");
}

TEST_F(Xml, AsH5TunersUsersHaveIt) {
  EXPECT_EQ(settings(R"(<?xml version="1.0" encoding="UTF-8"?>
<Parameters>
  <High_Level_IO_Library>
    <!-- measured in May -->
    <sieve_buf_size>65536</sieve_buf_size>
    <alignment> 4096, 65536 </alignment>
    <chunk>10,20</chunk>
  </High_Level_IO_Library>
  <Middleware_Layer>
    <cb_buffer_size>1048576</cb_buffer_size>
    <cb_nodes>4</cb_nodes>
  </Middleware_Layer>
  <Parallel_File_System>
    <striping_factor>8</striping_factor>
    <striping_unit>1048576</striping_unit>
  </Parallel_File_System>
</Parameters>)"),
            "alignment=4096,65536;cb_buffer_size=1048576;cb_nodes=4;chunk=10,20;"
            "sieve_buf_size=65536;striping_factor=8;striping_unit=1048576");
}

TEST_F(Xml, OurOwnNames) {
  EXPECT_EQ(middleware("<romio_cb_write>disable</romio_cb_write><cb_config_list>*:2"
                       "</cb_config_list>"),
            "cb_config_list=*:2;romio_cb_write=disable");
}

TEST_F(Xml, MayAskForWhatIsNotProven) {
  const auto forced = [&](const std::string& attributes) {
    write_file(path_, "<Parameters" + attributes + "/>");
    Result<Config> config = read_config(path_, "/data/a.h5");
    return config ? std::string(config->forced ? "yes" : "no") : config.error().text();
  };
  EXPECT_EQ(forced(""), "no");
  EXPECT_EQ(forced(" iotune_force='yes'"), "yes");
  EXPECT_EQ(forced(" iotune_force='no'"), "no");
  EXPECT_NE(forced(" iotune_force='true'").find("neither yes nor no"), std::string::npos);
  EXPECT_NE(forced(" force='yes'").find("no attribute 'force'"), std::string::npos);
  write_file(path_, config_text({{"", {}}}, true));
  EXPECT_TRUE(must(read_config(path_, "/data/a.h5")).forced);
}

TEST_F(Xml, EmptyIsTheDefault) {
  EXPECT_EQ(settings("<Parameters/>"), "");
  EXPECT_EQ(settings("<Parameters><Middleware_Layer/></Parameters>"), "");
}

TEST_F(Xml, FileNamesMatchWhole) {
  const std::string leaf = "<cb_nodes FileName=\"x.h5\">2</cb_nodes>";
  EXPECT_EQ(middleware(leaf, "/data/x.h5"), "cb_nodes=2");
  EXPECT_EQ(middleware(leaf, "/data/max.h5"), "");
  EXPECT_EQ(middleware(leaf, "/data/x.h5.bak"), "");
  EXPECT_EQ(middleware(leaf, "/x.h5/y"), "");
  const std::string path = "<cb_nodes FileName=\"/data/x.h5\">2</cb_nodes>";
  EXPECT_EQ(middleware(path, "/data/x.h5"), "cb_nodes=2");
  EXPECT_EQ(middleware(path, "/other/data/x.h5"), "");
}

TEST_F(Xml, TheFilesOwnSettingWins) {
  EXPECT_EQ(middleware("<cb_nodes FileName=\"x.h5\">2</cb_nodes><cb_nodes>8</cb_nodes>", "/x.h5"),
            "cb_nodes=2");
  EXPECT_EQ(middleware("<cb_nodes>8</cb_nodes><cb_nodes FileName=\"x.h5\">2</cb_nodes>", "/x.h5"),
            "cb_nodes=2");
  EXPECT_EQ(middleware("<cb_nodes>8</cb_nodes><cb_nodes FileName=\"x.h5\">2</cb_nodes>", "/y.h5"),
            "cb_nodes=8");
}

TEST_F(Xml, FaultsNameFileAndLine) {
  EXPECT_EQ(middleware("\n<cb_node>2</cb_node>"),
            path_ + ":2: <cb_node> is no parameter that iotune knows");
  EXPECT_EQ(middleware("\n\n<cb_nodes>two</cb_nodes>"),
            path_ + ":3: cb_nodes = 'two': the value is not made of plain integers");
  EXPECT_EQ(middleware("<cb_nodes/>"),
            path_ + ":1: cb_nodes = '': the value is not made of plain integers");
  EXPECT_EQ(middleware("<cb_nodes>2</cb_nodes>\n<cb_nodes>2</cb_nodes>"),
            path_ + ":2: cb_nodes is given twice");
  EXPECT_EQ(middleware("<cb_nodes Filename=\"x\">2</cb_nodes>"),
            path_ + ":1: <cb_nodes> has no attribute 'Filename'");
  EXPECT_EQ(middleware("cb_nodes=2"), path_ + ":1: text where an element is expected");
  EXPECT_EQ(settings("<Parameters>\n<Middleware/></Parameters>"),
            path_ +
                ":2: <Middleware> is none of High_Level_IO_Library, Middleware_Layer, "
                "Parallel_File_System");
  EXPECT_EQ(settings("<Settings/>"), path_ + ":1: the outermost element must be <Parameters>");
}

TEST_F(Xml, AWrongValueForAnotherFileIsStillAFault) {
  EXPECT_NE(middleware("<cb_nodes FileName=\"other.h5\">0</cb_nodes>").find("too small"),
            std::string::npos);
}

TEST_F(Xml, BrokenXml) {
  for (const char* text : {"", "<Parameters>", "<Parameters></Parameter>", "no xml",
                           "<Parameters>\xff</Parameters>", "<Parameters/><Parameters/>"}) {
    EXPECT_EQ(settings(text).find(path_ + ":"), 0u) << text;
  }
}

TEST_F(Xml, EntitiesAreNeverExpanded) {
  const std::string refusal = path_ + ": a document type (DOCTYPE) is not allowed";
  write_file(at("secret"), "2");
  EXPECT_EQ(settings("<!DOCTYPE p [<!ENTITY x SYSTEM \"file://" + at("secret") +
                     "\">]><Parameters><Middleware_Layer><cb_nodes>&x;</cb_nodes>"
                     "</Middleware_Layer></Parameters>"),
            refusal);
  EXPECT_EQ(settings("<!DOCTYPE p SYSTEM \"http://127.0.0.1:1/x.dtd\"><Parameters/>"), refusal);
  std::string bomb = "<!DOCTYPE b [<!ENTITY a0 \"aaaaaaaaaaaaaaaa\">";
  for (int i = 1; i < 30; ++i) {
    std::string inner = "&a" + std::to_string(i - 1) + ";";
    bomb += "<!ENTITY a" + std::to_string(i) + " \"" + inner + inner + "\">";
  }
  EXPECT_EQ(settings(bomb + "]><Parameters>&a29;</Parameters>"), refusal);
  EXPECT_EQ(middleware("<cb_nodes>&x;</cb_nodes>").find(path_ + ":1: "), 0u);
}

TEST_F(Xml, KnobsOfOtherMachinesAreNamed) {
  write_file(path_,
             "<Parameters><Parallel_File_System><IBM_lockless_io>1</IBM_lockless_io>"
             "</Parallel_File_System></Parameters>");
  Config config = must(read_config(path_, "/x.h5"));
  EXPECT_TRUE(config.settings.empty());
  EXPECT_EQ(config.notes,
            (std::vector<std::string>{"IBM_lockless_io (line 1) is not supported and left out"}));
}

TEST_F(Xml, SettingsOfOneVariable) {
  write_file(path_,
             "<Parameters><High_Level_IO_Library><chunk>7</chunk>"
             "<chunk VariableName=\"/g/x y\">5</chunk>"
             "<chunk VariableName=\"/g/x y\" FileName=\"x.h5\">6</chunk>"
             "<chunk_cache VariableName=\"z\">4096</chunk_cache>"
             "</High_Level_IO_Library></Parameters>");
  Config config = must(read_config(path_, "/x.h5"));
  EXPECT_EQ(config.settings.text(), "chunk=7");
  ASSERT_EQ(config.of_variables.size(), 2u);
  EXPECT_EQ(config.of_variables[0].variable, "/g/x y");
  EXPECT_EQ(config.of_variables[0].value, "6");  // the file's own beats that of all files
  EXPECT_EQ(config.of_variables[1].name, "chunk_cache");
  EXPECT_EQ(must(read_config(path_, "/y.h5")).of_variables[0].value, "5");
  const auto middle = [&](const std::string& leaves) {
    write_file(path_, "<Parameters><High_Level_IO_Library>" + leaves +
                          "</High_Level_IO_Library></Parameters>");
    return read_config(path_, "/x.h5").error().text();
  };
  EXPECT_EQ(middle("<chunk VariableName=\"x\">5</chunk><chunk VariableName=\"x\">6</chunk>"),
            path_ + ":1: chunk of 'x' is given twice");
  EXPECT_EQ(middle("<chunk VariableName=\"\">5</chunk>"),
            path_ + ":1: VariableName must have 1 to 127 bytes on one line");
  EXPECT_EQ(middle("<alignment VariableName=\"x\">1,2</alignment>"),
            path_ + ":1: <alignment> has no attribute 'VariableName'");
}

TEST_F(Xml, MissingLargeAndOddFiles) {
  EXPECT_EQ(read_config(at("none"), "/x").error().text(),
            at("none") + ": No such file or directory");
  EXPECT_EQ(read_config(folder(), "/x").error().text(), folder() + ": not a regular file");
  EXPECT_EQ(settings(std::string((1 << 20) + 1, ' ')), path_ + ": larger than 1 MiB");
}

TEST_F(Xml, WrittenOnesComeBack) {
  for (const char* text : {"", "cb_nodes=2",
                           "alignment=0,4096;cb_config_list=*:2;cb_nodes=2;chunk=5,6;"
                           "romio_cb_write=disable;striping_factor=4"}) {
    Settings wanted = must(Settings::parse(text));
    EXPECT_EQ(settings(config_text({{"", wanted}})), text);
  }
}

TEST_F(Xml, WrittenOnesOfFilesComeBackForThemAlone) {
  const Settings all = must(Settings::parse("cb_nodes=2;striping_factor=4"));
  const Settings own = must(Settings::parse("cb_nodes=3;alignment=0,4096"));
  EXPECT_EQ(settings(config_text({{"", all}, {"vpic0.h5", own}})),
            "alignment=0,4096;cb_nodes=3;striping_factor=4");
  EXPECT_EQ(settings(config_text({{"", all}, {"pic0.h5", own}})), "cb_nodes=2;striping_factor=4");
  const std::string name = "a & \"b\" <c> 'é'.h5";
  write_file(path_, config_text({{name, own}}));
  EXPECT_EQ(must(read_config(path_, "/data/" + name)).settings.text(), own.text());
}

}  // namespace
}  // namespace iotune::patterndb::testing
