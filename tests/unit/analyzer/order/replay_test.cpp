#include "analyzer/order/replay/replay.h"

#include <gtest/gtest.h>

#include "order_script.h"

namespace iotune::analyzer {
namespace {

constexpr auto kNever = HappensBefore::kNever;

// In all models whether a write of process 0 in segment i is visible to process 1 in segment j.
struct Verdicts {
  bool posix, commit, session, mpi_io;
  bool operator==(const Verdicts&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Verdicts& of) {
  return out << of.posix << of.commit << of.session << of.mpi_io;
}

Verdicts visible(const HappensBefore& order, std::uint64_t i, std::uint64_t j, std::uint32_t p = 0,
                 std::uint32_t q = 1) {
  const auto in = [&](ConsistencyModel model) {
    return j >= order.first_visible(model, p, i, q, 0, false);
  };
  return {in(ConsistencyModel::kPosix), in(ConsistencyModel::kCommit),
          in(ConsistencyModel::kSession), in(ConsistencyModel::kMpiIo)};
}

// Process 0 opens, writes and does `after`; process 1 opens, does `before` and reads.
struct WriteThenRead {
  Script writer, reader;
  std::uint64_t write = 0;

  WriteThenRead() {
    writer.together("MPI_File_open");
    reader.together("MPI_File_open");
    write = writer.segment();
  }
  Verdicts verdicts() const { return visible(order_of({writer, reader}), write, reader.segment()); }
};

TEST(OrderReplay, AMissingBarrierIsARace) {
  EXPECT_EQ(WriteThenRead().verdicts(), (Verdicts{false, false, false, false}));
}

TEST(OrderReplay, ABarrierWithoutASyncSufficesForPosixAlone) {
  WriteThenRead run;
  run.writer.barrier();
  run.reader.barrier();
  EXPECT_EQ(run.verdicts(), (Verdicts{true, false, false, false}));
}

TEST(OrderReplay, ASyncWithoutABarrierOrdersWhatWasBeforeIt) {
  // All ranks leave MPI_File_sync after all have come to it, but not after all are done.
  WriteThenRead run;
  run.writer.together("MPI_File_sync");
  run.reader.together("MPI_File_sync");
  EXPECT_EQ(run.verdicts(), (Verdicts{true, false, false, false}));
}

TEST(OrderReplay, SyncBarrierSyncSufficesForMpiIo) {
  WriteThenRead run;
  for (Script* const rank : {&run.writer, &run.reader}) {
    rank->together("MPI_File_sync").barrier().together("MPI_File_sync");
  }
  EXPECT_EQ(run.verdicts(), (Verdicts{true, true, false, true}));
}

TEST(OrderReplay, AFsyncBeforeABarrierIsACommit) {
  WriteThenRead run;
  run.writer.on_file("fsync").barrier();
  run.reader.barrier();
  EXPECT_EQ(run.verdicts(), (Verdicts{true, true, false, false}));
}

TEST(OrderReplay, ACloseAndALaterOpenAreASession) {
  Script writer, reader;
  writer.on_file("open");
  const std::uint64_t write = writer.segment();
  writer.on_file("close").barrier();
  reader.barrier().on_file("open");
  EXPECT_EQ(visible(order_of({writer, reader}), write, reader.segment()),
            (Verdicts{true, true, true, false}));
}

TEST(OrderReplay, AnOpenBeforeTheCloseIsNoSession) {
  Script writer, reader;
  writer.on_file("open");
  const std::uint64_t write = writer.segment();
  writer.on_file("close").barrier();
  reader.on_file("open").barrier();
  EXPECT_EQ(visible(order_of({writer, reader}), write, reader.segment()),
            (Verdicts{true, true, false, false}));
}

TEST(OrderReplay, CloseBarrierOpenSufficesForMpiIo) {
  WriteThenRead run;
  for (Script* const rank : {&run.writer, &run.reader}) {
    rank->together("MPI_File_close").barrier().together("MPI_File_open");
  }
  EXPECT_EQ(run.verdicts(), (Verdicts{true, true, true, true}));
}

TEST(OrderReplay, AJointOpenOpensWhenItsRanksHaveMet) {
  WriteThenRead run;
  for (Script* const rank : {&run.writer, &run.reader}) {
    rank->together("MPI_File_close").together("MPI_File_open");
  }
  EXPECT_EQ(run.verdicts(), (Verdicts{true, true, true, false}));
}

TEST(OrderReplay, WhatRunsInsideAJointCallIsNotBeforeOtherRanksEnds) {
  WriteThenRead run;
  for (Script* const rank : {&run.writer, &run.reader}) {
    rank->on_file("close").together("MPI_File_close").events.back().inside = 1;
  }
  run.reader.on_file("open");
  EXPECT_EQ(run.verdicts(), (Verdicts{true, false, false, false}));
}

TEST(OrderReplay, AReadBeforeAWriteNeedsOrderAlone) {
  WriteThenRead run;
  run.writer.barrier();
  run.reader.barrier();
  const HappensBefore order = order_of({run.writer, run.reader});
  for (const ConsistencyModel model : kConsistencyModels) {
    EXPECT_EQ(order.first_visible(model, 0, 1, 1, 0, true), 2U) << name_of(model);
  }
}

TEST(OrderReplay, ASyncOnAnotherCommunicatorOrdersItsMembersAlone) {
  std::vector<Script> ranks(4);
  for (int rank = 0; rank < 4; ++rank) {
    ranks[static_cast<std::size_t>(rank)].make("MPI_Comm_split", 5, 8 + rank % 2, rank / 2, 2);
    ranks[static_cast<std::size_t>(rank)].barrier(5);
  }
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(0, 1, 2), 2U);
  EXPECT_EQ(order.first_after(0, 1, 1), kNever);
  EXPECT_EQ(order.first_after(0, 0, 1), 1U);  // the split itself
}

TEST(OrderReplay, RanksOfANewCommunicatorAreThoseThatItsMembersSay) {
  std::vector<Script> ranks(3);
  for (int rank = 0; rank < 3; ++rank) {
    ranks[static_cast<std::size_t>(rank)].make("MPI_Comm_split", 5, 8, 2 - rank, 3);
  }
  ranks[2].send(1, 0, 5);  // the world's rank 1 again
  ranks[1].receive(0, 0, 5);
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(2, 1, 1), 2U);
  EXPECT_TRUE(order.unknown().empty());
}

TEST(OrderReplay, ARankThatIsLeftOutHasNoCommunicator) {
  std::vector<Script> ranks(3);
  ranks[0].make("MPI_Comm_create", 5, 8, 0, 2).barrier(5);
  ranks[1].make("MPI_Comm_create", 5, 0, -1, 0);
  ranks[2].make("MPI_Comm_create", 5, 8, 1, 2).barrier(5);
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(0, 1, 2), 2U);
  EXPECT_TRUE(order.unknown().empty());
}

TEST(OrderReplay, AGroupMakesACommunicatorByItself) {
  // Rank 1 makes another one of the same ranks in between, with another tag.
  std::vector<Script> ranks(3);
  const auto makes = [&](std::size_t rank, std::int64_t handle, std::int64_t tag) {
    const std::int64_t place = rank == 0 ? 1 : 0;
    ranks[rank].make("MPI_Comm_create_group", handle, 8, place, 2).events.back().tag = tag;
  };
  makes(0, 5, 1);
  makes(1, 6, 1);
  makes(0, 7, 2);
  makes(1, 8, 2);
  ranks[0].barrier(5);
  ranks[1].barrier(6).send(1, 0, 8);
  ranks[0].receive(0, 0, 7);
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(0, 0, 1), 1U);
  EXPECT_EQ(order.first_after(0, 2, 1), 3U);
  EXPECT_EQ(order.first_after(1, 3, 0), 4U);
  EXPECT_EQ(order.first_after(0, 0, 2), kNever);
  EXPECT_TRUE(order.unknown().empty());
}

TEST(OrderReplay, AGroupOfWhichOneNeverCallsIsUnknown) {
  std::vector<Script> ranks(2);
  ranks[0].make("MPI_Comm_create_group", 5, 8, 0, 2).barrier(5);
  const HappensBefore order = order_of(ranks);
  ASSERT_EQ(order.unknown().size(), 2U);
  EXPECT_EQ(order.unknown()[0].reason,
            "MPI_Comm_create_group of which the call of one rank is not in the trace");
  EXPECT_EQ(order.unknown()[1].reason, "collectives on communicators whose ranks are not known");
}

TEST(OrderReplay, OrderGoesThroughAThirdRank) {
  std::vector<Script> ranks(3);
  ranks[0].send(2);
  ranks[2].receive(0).send(1);
  ranks[1].receive(2);
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(0, 0, 1), 1U);
  EXPECT_EQ(order.first_after(0, 1, 1), kNever);
  EXPECT_EQ(order.first_after(1, 0, 0), kNever);
}

TEST(OrderReplay, AWildcardTakesTheMessageThatItGot) {
  std::vector<Script> ranks(3);
  ranks[0].send(2, 7);
  ranks[1].send(2, 8);
  ranks[2].receive(OrderEvent::kAnySource, OrderEvent::kAnyTag, kWorld, 1, 8).receive(0, 7);
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(1, 0, 2), 1U);
  EXPECT_EQ(order.first_after(0, 0, 2), 2U);
}

TEST(OrderReplay, AWildcardThatIsPostedFirstTakesTheFirstMessage) {
  std::vector<Script> ranks(2);
  ranks[0].send(1).send(1);
  ranks[1].begin_receive(11, OrderEvent::kAnySource).begin_receive(12, 0);
  ranks[1].complete({{12, 0, 0}}).complete({{11, 0, 0}});
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(0, 1, 1), 3U);  // by the second message
}

TEST(OrderReplay, AReceiveThatIsNeverCompletedOrdersNothing) {
  // Its Test calls saw nothing; the one that did would be an event.
  std::vector<Script> ranks(2);
  ranks[0].send(1).send(1);
  ranks[1].begin_receive(11, 0).receive(0);
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(0, 0, 1), 2U);  // by the second message
  EXPECT_EQ(order.first_after(0, 1, 1), 2U);
}

TEST(OrderReplay, ACancelledReceiveTakesNoMessage) {
  std::vector<Script> ranks(2);
  ranks[0].send(1).send(1);
  ranks[1].begin_receive(11, 0).complete({{11, -3, -3}}).receive(0);
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(0, 0, 1), 3U);
  EXPECT_EQ(order.first_after(0, 1, 1), kNever);
}

TEST(OrderReplay, ASynchronousSendEndsWhenItsReceiveHasBegun) {
  // The receive is posted in the second event of rank 1 and completed later.
  std::vector<Script> ranks(2);
  ranks[1].on_file("fsync").begin_receive(11, 0).on_file("fsync").complete({{11, 0, 0}});
  ranks[0].send(1).events.back().synchronous = true;
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(1, 1, 0), 1U);
  EXPECT_EQ(order.first_after(1, 2, 0), kNever);
  EXPECT_EQ(order.first_after(0, 0, 1), 4U);
  ranks[0].events.back().synchronous = false;
  EXPECT_EQ(order_of(ranks).first_after(1, 0, 0), kNever);
}

TEST(OrderReplay, ASynchronousSendToAnUnknownReceiveOrdersNothing) {
  // The wildcard may have taken the message; what it got is not in the trace.
  std::vector<Script> ranks(2);
  ranks[1].begin_receive(11, OrderEvent::kAnySource).on_file("fsync").receive(0);
  for (int i = 0; i < 2; ++i) ranks[0].send(1).events.back().synchronous = true;
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(1, 1, 0), kNever);
  EXPECT_TRUE(order.unknown().empty());
}

TEST(OrderReplay, PersistentRequestsBeginWithEachStart) {
  std::vector<Script> ranks(2);
  OrderEvent& make_send = ranks[0].add(OrderKind::kInitSend, "MPI_Send_init");
  make_send.comm = kWorld;
  make_send.to = 1;
  make_send.request = 21;
  OrderEvent& make_receive = ranks[1].add(OrderKind::kInitReceive, "MPI_Recv_init");
  make_receive.comm = kWorld;
  make_receive.from = 0;
  make_receive.request = 22;
  for (int round = 0; round < 2; ++round) {
    ranks[0].add(OrderKind::kStart, "MPI_Start").handles = {21};
    ranks[0].complete({{21, -3, -3}});
    ranks[1].add(OrderKind::kStart, "MPI_Start").handles = {22};
    ranks[1].complete({{22, 0, 0}});
  }
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(0, 1, 1), 3U);
  EXPECT_EQ(order.first_after(0, 2, 1), 5U);
  EXPECT_EQ(order.first_after(0, 3, 1), 5U);
  EXPECT_EQ(order.first_after(0, 4, 1), kNever);
}

TEST(OrderReplay, PartitionedRequestsMatchInTheOrderOfTheirMaking) {
  std::vector<Script> ranks(2);
  for (const std::int64_t request : {31, 32}) {
    OrderEvent& make_send = ranks[0].add(OrderKind::kInitSend, "MPI_Psend_init");
    make_send.comm = kWorld;
    make_send.to = 1;
    make_send.request = request;
    make_send.partitioned = true;
    OrderEvent& make_receive = ranks[1].add(OrderKind::kInitReceive, "MPI_Precv_init");
    make_receive.comm = kWorld;
    make_receive.from = 0;
    make_receive.request = request;
    make_receive.partitioned = true;
  }
  ranks[0].add(OrderKind::kStart, "MPI_Start").handles = {32};
  ranks[0].add(OrderKind::kStart, "MPI_Start").handles = {31};
  ranks[1].add(OrderKind::kStart, "MPI_Startall").handles = {31, 32};
  ranks[1].complete({{32, -3, -3}}).complete({{31, -3, -3}});
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(0, 2, 1), 4U);
  EXPECT_EQ(order.first_after(0, 3, 1), 5U);
}

TEST(OrderReplay, AProbedMessageIsTakenByTheProbe) {
  std::vector<Script> ranks(2);
  ranks[0].send(1).send(1);
  OrderEvent& probe = ranks[1].add(OrderKind::kProbe, "MPI_Mprobe");
  probe.comm = kWorld;
  probe.from = OrderEvent::kAnySource;
  probe.got_source = 0;
  probe.got_tag = 0;
  probe.request = 41;
  ranks[1].receive(0);
  ranks[1].add(OrderKind::kReceiveProbed, "MPI_Mrecv").handles = {41};
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(0, 1, 1), 2U);  // the second message, in MPI_Recv
}

TEST(OrderReplay, ABroadcastOrdersTheRootBeforeAllAndNothingElse) {
  std::vector<Script> ranks(3);
  for (Script& rank : ranks) rank.collective("MPI_Bcast", kWorld, 1);
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(1, 0, 0), 1U);
  EXPECT_EQ(order.first_after(1, 0, 2), 1U);
  EXPECT_EQ(order.first_after(0, 0, 1), kNever);
  EXPECT_EQ(order.first_after(0, 0, 2), kNever);
}

TEST(OrderReplay, AReductionOrdersAllBeforeTheRoot) {
  std::vector<Script> ranks(3);
  for (Script& rank : ranks) rank.collective("MPI_Reduce", kWorld, 1);
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(0, 0, 1), 1U);
  EXPECT_EQ(order.first_after(2, 0, 1), 1U);
  EXPECT_EQ(order.first_after(1, 0, 0), kNever);
  EXPECT_EQ(order.first_after(0, 0, 2), kNever);
}

TEST(OrderReplay, AScanOrdersLowerRanksBeforeHigherOnes) {
  std::vector<Script> ranks(3);
  for (Script& rank : ranks) rank.collective("MPI_Scan");
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(0, 0, 1), 1U);
  EXPECT_EQ(order.first_after(0, 0, 2), 1U);
  EXPECT_EQ(order.first_after(1, 0, 2), 1U);
  EXPECT_EQ(order.first_after(1, 0, 0), kNever);
}

TEST(OrderReplay, NeighboursOrderThoseThatGetFromThem) {
  // A ring of which each rank gets from the one below; a copy keeps it, a part of it does not.
  std::vector<Script> ranks(3);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const auto own = static_cast<std::int64_t>(rank);
    OrderEvent& ring =
        ranks[rank].make("MPI_Dist_graph_create_adjacent", 5, 8, own, 3).events.back();
    ring.has_topology = true;
    ring.sources = {(own + 2) % 3, (own + 2) % 3};
    ranks[rank].make("MPI_Comm_dup", 6, 8, own, 3, 5).events.back().keeps_topology = true;
    ranks[rank].make("MPI_Comm_split", 7, 8, own, 3, 5);
    for (const std::int64_t comm : {6, 7}) {
      ranks[rank].collective("MPI_Neighbor_allgather", comm).events.back().from_neighbours = true;
    }
  }
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(0, 3, 1), 4U);
  EXPECT_EQ(order.first_after(2, 3, 0), 4U);
  EXPECT_EQ(order.first_after(0, 3, 2), kNever);
  EXPECT_EQ(order.first_after(0, 4, 1), kNever);
  ASSERT_EQ(order.unknown().size(), 1U);
  EXPECT_EQ(order.unknown()[0].reason, "MPI_Neighbor_allgather on a topology that is not recorded");
}

TEST(OrderReplay, ACollectiveOfZeroElementsOrdersNothing) {
  std::vector<Script> ranks(2);
  for (Script& rank : ranks) {
    rank.collective("MPI_Allreduce");
    rank.events.back().gives = rank.events.back().takes = false;
  }
  EXPECT_EQ(order_of(ranks).first_after(0, 0, 1), kNever);
}

TEST(OrderReplay, ANonBlockingBarrierOrdersWhereItIsCompleted) {
  std::vector<Script> ranks(2);
  for (Script& rank : ranks) rank.collective("MPI_Ibarrier", kWorld, 0, 51);
  ranks[0].complete({{51, -3, -3}});
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(1, 0, 0), 2U);
  EXPECT_EQ(order.first_after(0, 0, 1), kNever);  // never completed there
}

TEST(OrderReplay, AForkOrdersTheParentBeforeItsChildAndAWaitTheChildBeforeIt) {
  std::vector<Script> processes(2);
  processes[1].forked_by = 0;
  processes[1].on_file("open");
  processes[0].on_file("open");
  processes[0].add(OrderKind::kFork, "fork").process = 1;
  processes[0].on_file("fsync");
  processes[0].add(OrderKind::kWaitChild, "waitpid").process = 1;
  const HappensBefore order = order_of(processes, 1);
  EXPECT_EQ(order.first_after(0, 1, 1), 0U);
  EXPECT_EQ(order.first_after(0, 2, 1), kNever);
  EXPECT_EQ(order.first_after(1, 1, 0), 4U);
}

TEST(OrderReplay, CollectivesThatDoNotBelongTogetherAreNamed) {
  std::vector<Script> ranks(2);
  ranks[0].barrier();
  ranks[1].collective("MPI_Bcast");
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(0, 0, 1), kNever);
  ASSERT_EQ(order.unknown().size(), 1U);
  EXPECT_EQ(order.unknown()[0].reason,
            "rank 0 calls MPI_Barrier where rank 1 calls MPI_Bcast with root 0");
}

TEST(OrderReplay, AMissingCallIsUnknownAndNoOrder) {
  std::vector<Script> ranks(3);
  ranks[0].barrier();
  ranks[1].barrier().receive(0);
  const HappensBefore order = order_of(ranks);
  EXPECT_EQ(order.first_after(0, 0, 1), kNever);
  ASSERT_EQ(order.unknown().size(), 2U);
  EXPECT_EQ(order.unknown()[0].reason,
            "MPI_Barrier of which the call of rank 2 is not in the trace");
  EXPECT_EQ(order.unknown()[1].reason, "messages whose send is not in the trace");
}

TEST(OrderReplay, RanksWithoutARecordAreSaid) {
  std::vector<Script> ranks(2);
  for (Script& rank : ranks) rank.barrier();
  const HappensBefore order = order_of(ranks, 3);
  EXPECT_EQ(order.first_after(0, 0, 1), kNever);
  ASSERT_FALSE(order.unknown().empty());
  EXPECT_EQ(order.unknown()[0].reason, "of 3 ranks 1 have no record");
}

TEST(OrderReplay, BarriersKeepOneClockAndNotOneARank) {
  std::vector<Script> ranks(16);
  for (Script& rank : ranks) {
    for (int i = 0; i < 100; ++i) rank.barrier();
  }
  const HappensBefore order = order_of(ranks);
  EXPECT_LE(order.kept_rows(), 100U + 2U * 16U);
}

}  // namespace
}  // namespace iotune::analyzer
