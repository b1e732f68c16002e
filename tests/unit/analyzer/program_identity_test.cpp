#include "analyzer/summary/program_identity.h"

#include <gtest/gtest.h>

namespace iotune::analyzer {
namespace {

TEST(ProgramIdentity, AnExecutableIsItsName) {
  EXPECT_EQ(program_identity("/opt/bin/vpic-io", {"./vpic-io", "deck"}), "vpic-io");
  EXPECT_EQ(program_identity("/opt/pythonista", {"pythonista", "deck.py"}), "pythonista");
  EXPECT_EQ(program_identity("", {}), "");
}

TEST(ProgramIdentity, AScriptIsNamedByItsOwnName) {
  const std::string python = "/usr/bin/python3.11";
  EXPECT_EQ(program_identity(python, {"python3", "jobs/read.py", "-x"}), "read.py");
  EXPECT_EQ(program_identity(python, {"python3", "-u", "-X", "dev", "-W", "error", "a.py"}),
            "a.py");
  EXPECT_EQ(program_identity(python, {"python3", "-m", "mpi4py", "b.py"}), "b.py");
  EXPECT_EQ(program_identity(python, {"python3", "-m", "pkg.run", "c.py"}), "python -m pkg.run");
  EXPECT_EQ(program_identity(python, {"python3", "-c", "print(1)"}), "python -c");
  EXPECT_EQ(program_identity(python, {"python3"}), "python3.11");
  EXPECT_EQ(program_identity(python, {"python3", "-"}), "python3.11");
  EXPECT_EQ(program_identity("/usr/lib/R/bin/exec/R", {"R", "--no-echo", "--file=m/x.R"}), "x.R");
  EXPECT_EQ(program_identity("/usr/bin/julia", {"julia", "-t", "4", "y.jl"}), "y.jl");
}

}  // namespace
}  // namespace iotune::analyzer
