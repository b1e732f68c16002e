#include "recorder/hooks/service.h"

#include <gtest/gtest.h>

#include <string>

namespace iotune::recorder {

Service* g_services = nullptr;  // in place of services.cpp, which loads libraries

namespace {

std::string g_heard;

class Services : public ::testing::Test {
 protected:
  void SetUp() override {
    g_heard.clear();
    g_services = &first_;
    first_.next = &second_;
  }
  void TearDown() override { g_services = nullptr; }

  Service first_, second_;
};

TEST_F(Services, HearInTheirOrderOfWhatTheyCareFor) {
  first_.mapped = [](int fd) { g_heard += "first " + std::to_string(fd) + ", "; };
  second_.mapped = [](int fd) { g_heard += "second " + std::to_string(fd); };
  second_.jumped = [] { g_heard += "; jumped"; };
  tell_services<&Service::mapped>(7);
  tell_services<&Service::jumped>();
  tell_services<&Service::process_ends>();
  EXPECT_EQ(g_heard, "first 7, second 7; jumped");
}

TEST_F(Services, TheFirstAnswerCounts) {
  Transfer transfer{};
  EXPECT_EQ(ask_services<&Service::serve_read>(kMakeTheCall, transfer, nullptr, 0), kMakeTheCall);
  first_.serve_read = [](Transfer&, const void*, std::int64_t) { return kMakeTheCall; };
  second_.serve_read = [](Transfer& read, const void*, std::int64_t parts) {
    read.served = true;
    return parts;
  };
  EXPECT_EQ(ask_services<&Service::serve_read>(kMakeTheCall, transfer, nullptr, 5), 5);
  EXPECT_TRUE(transfer.served);
}

TEST_F(Services, OneOfThemOwnsAFile) {
  EXPECT_FALSE(is_owned(3));
  second_.owns = [](int fd) { return fd == 3; };
  EXPECT_TRUE(is_owned(3));
  EXPECT_FALSE(is_owned(4));
}

TEST_F(Services, AnyOfThemSharesOpens) {
  EXPECT_FALSE(shares_opens());
  second_.after_shared_open = [](Provider&, Word, Word) {};
  EXPECT_TRUE(shares_opens());
}

TEST_F(Services, WithoutOneNoneHears) {
  first_.jumped = [] { g_heard += "jumped"; };
  g_services = nullptr;
  tell_services<&Service::jumped>();
  EXPECT_EQ(g_heard, "");
  EXPECT_FALSE(shares_opens());
}

}  // namespace
}  // namespace iotune::recorder
