#include "drawn_program.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string_view>
#include <utility>

#include "analyzer/order/replay/posted_receives.h"

namespace iotune::analyzer {
namespace {

constexpr std::string_view kCollectives[] = {"MPI_Barrier",  "MPI_Allreduce", "MPI_Bcast",
                                             "MPI_Reduce",   "MPI_Scan",      "MPI_Gather",
                                             "MPI_Alltoallv"};
constexpr std::string_view kFileCalls[] = {"open", "close", "fsync", "MPI_File_sync"};

class Engine {
 public:
  explicit Engine(std::uint64_t seed) : random_(seed) {
    const std::size_t ranks = 2 + below(7);
    program_.scripts.resize(ranks);
    lines_.resize(ranks);
    std::vector<std::size_t> all(ranks);
    for (std::size_t i = 0; i < ranks; ++i) all[i] = i;
    groups_.push_back({kWorld, all, {}, std::vector<std::size_t>(ranks)});
    for (Line& line : lines_) line.groups.push_back(0);
  }

  // False: the processes wait for each other for good.
  bool run() {
    const std::size_t steps = program_.scripts.size() * (5 + below(25));
    for (std::size_t i = 0; i < steps; ++i) step(below(lines_.size()), true);
    // Whatever was begun together is made by all.
    for (int round = 0; round < 2000; ++round) {
      bool idle = true;
      for (std::size_t p = 0; p < lines_.size(); ++p) {
        step(p, false);
        idle &= !lines_[p].blocked && owes(p) == SIZE_MAX;
      }
      if (!idle) continue;
      for (std::size_t p = 0; p < lines_.size(); ++p) complete_wildcards(p);
      return true;
    }
    return false;
  }
  DrawnProgram take() { return std::move(program_); }

 private:
  struct Message {
    std::size_t from_rank;
    std::int64_t tag;
    Moment sent;
    std::int64_t request = -1;  // of a synchronous one
  };
  struct Receive {
    std::size_t process;
    std::size_t group;
    std::int64_t from, tag, request;
    Moment posted{};
    bool matched = false;
    Message message{};
  };
  struct SynchronousSend {  // begun and not completed
    std::int64_t request;
    bool matched = false;
    Moment posted{};  // its receive
  };
  struct Colour {
    std::int64_t colour, key;
  };
  struct Call {  // of all members of a group
    std::string_view name;
    CollectiveOrder order;
    std::int64_t root = 0;
    bool makes = false, splits = false;
    std::map<std::size_t, Moment> came;  // by rank
    std::vector<std::pair<std::size_t, Moment>> ended;
    std::map<std::size_t, Colour> colours;
    std::map<std::size_t, std::vector<std::int64_t>> sources;  // by rank: whom it gets from
    std::map<std::int64_t, std::size_t> made;                  // group by colour
    bool zero = false;
  };
  struct Group {
    std::int64_t handle;
    std::vector<std::size_t> members;
    std::deque<Call> calls;
    std::vector<std::size_t> next;  // by rank: its next call
  };
  struct Begun {  // a non-blocking collective
    std::size_t group, call, rank;
    std::int64_t request;
  };
  struct Line {
    std::vector<std::size_t> groups;
    std::deque<Receive> receives;  // begun and not completed
    std::deque<SynchronousSend> sends;
    std::vector<Begun> begun;
    std::map<std::size_t, std::vector<Message>> waiting;  // by group: not taken by any receive
    bool blocked = false;
    Begun blocked_in{};
    Moment blocked_at{};
    std::int64_t next_request = 100;
  };

  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }
  std::size_t rank_in(const Group& group, std::size_t p) const {
    return static_cast<std::size_t>(std::find(group.members.begin(), group.members.end(), p) -
                                    group.members.begin());
  }
  Moment next_moment(std::size_t p) const { return {p, program_.scripts[p].segment()}; }

  // A group of which the others have made a call that this process has not.
  std::size_t owes(std::size_t p) const {
    for (const std::size_t g : lines_[p].groups) {
      if (groups_[g].next[rank_in(groups_[g], p)] < groups_[g].calls.size()) return g;
    }
    return SIZE_MAX;
  }

  void step(std::size_t p, bool free) {
    Line& line = lines_[p];
    if (line.blocked) {
      try_end(p);
      return;
    }
    if (!free) {
      const std::size_t group = owes(p);
      if (group != SIZE_MAX) collective(p, group, false);
      return;
    }
    const std::size_t group = line.groups[below(line.groups.size())];
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
        send(p, group);
        break;
      case 3:
      case 4:
        begin_receive(p, group);
        break;
      case 5:
        receive(p, group);
        break;
      case 6:
      case 7:
        complete(p);
        break;
      case 8:
        collective(p, group, below(2) == 0);
        break;
      case 9:
        if (groups_.size() < 6 && below(3) == 0) {
          make(p, group);
        } else {
          collective(p, group, true);
        }
        break;
      default:
        program_.scripts[p].on_file(kFileCalls[below(std::size(kFileCalls))]);
    }
  }

  void send(std::size_t p, std::size_t g) {
    const Group& group = groups_[g];
    const std::size_t to = below(group.members.size());
    const std::size_t q = group.members[to];
    Message message{rank_in(group, p), static_cast<std::int64_t>(below(2)), next_moment(p)};
    const bool blocks = below(2) == 0, synchronous = !blocks && below(2) == 0;
    const std::int64_t request = blocks ? OrderEvent::kBlocking : lines_[p].next_request++;
    program_.scripts[p].send(static_cast<std::int64_t>(to), message.tag, group.handle, request);
    if (synchronous) {
      program_.scripts[p].events.back().synchronous = true;
      lines_[p].sends.push_back({request});
      message.request = request;
    }
    for (Receive& receive : lines_[q].receives) {
      if (receive.group == g && !receive.matched && fits(receive, message)) {
        match(receive, message);
        return;
      }
    }
    lines_[q].waiting[g].push_back(message);
  }

  void match(Receive& receive, const Message& message) {
    receive.matched = true;
    receive.message = message;
    for (SynchronousSend& send : lines_[message.sent.process].sends) {
      if (send.request != message.request) continue;
      send.matched = true;
      send.posted = receive.posted;
    }
  }

  static bool fits(const Receive& receive, const Message& message) {
    return (receive.from == OrderEvent::kAnySource ||
            receive.from == static_cast<std::int64_t>(message.from_rank)) &&
           (receive.tag == OrderEvent::kAnyTag || receive.tag == message.tag);
  }

  Receive ask(std::size_t p, std::size_t g) {
    const Group& group = groups_[g];
    Receive result{p, g, 0, 0, 0, next_moment(p), false, {}};
    result.from = below(3) == 0 ? OrderEvent::kAnySource
                                : static_cast<std::int64_t>(below(group.members.size()));
    result.tag = below(3) == 0 ? OrderEvent::kAnyTag : static_cast<std::int64_t>(below(2));
    return result;
  }

  // Of each source the first message that fits; any source's may have come first.
  bool take_waiting(Receive& receive) {
    std::vector<Message>& waiting = lines_[receive.process].waiting[receive.group];
    std::vector<std::size_t> choices;
    std::vector<std::size_t> sources;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      const std::size_t source = waiting[i].from_rank;
      if (!fits(receive, waiting[i])) continue;
      if (std::find(sources.begin(), sources.end(), source) != sources.end()) continue;
      sources.push_back(source);
      choices.push_back(i);
    }
    if (choices.empty()) return false;
    const std::size_t chosen = choices[below(choices.size())];
    match(receive, waiting[chosen]);
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(chosen));
    return true;
  }

  void begin_receive(std::size_t p, std::size_t g) {
    Receive receive = ask(p, g);
    receive.request = lines_[p].next_request++;
    program_.scripts[p].begin_receive(receive.request, receive.from, receive.tag,
                                      groups_[g].handle);
    take_waiting(receive);
    lines_[p].receives.push_back(receive);
  }

  void receive(std::size_t p, std::size_t g) {
    Receive receive = ask(p, g);
    if (!take_waiting(receive)) return;
    program_.edges.push_back({receive.message.sent, next_moment(p)});
    program_.scripts[p].receive(receive.from, receive.tag, groups_[g].handle,
                                static_cast<std::int64_t>(receive.message.from_rank),
                                receive.message.tag);
  }

  // Waits for some requests that are ready; cancels a receive now and then.
  void complete(std::size_t p) {
    Line& line = lines_[p];
    std::vector<Completion> completed;
    const Moment here = next_moment(p);
    for (std::size_t i = 0; i < line.receives.size();) {
      const Receive& receive = line.receives[i];
      const bool cancels = !receive.matched && below(10) == 0;
      if ((!receive.matched && !cancels) || below(2) == 0) {
        ++i;
        continue;
      }
      if (cancels) {
        completed.push_back({receive.request, -3, -3});
      } else {
        completed.push_back({receive.request, static_cast<std::int64_t>(receive.message.from_rank),
                             receive.message.tag});
        program_.edges.push_back({receive.message.sent, here});
      }
      line.receives.erase(line.receives.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (std::size_t i = 0; i < line.sends.size();) {
      if (!line.sends[i].matched || below(2) == 0) {
        ++i;
        continue;
      }
      completed.push_back({line.sends[i].request, -3, -3});
      program_.edges.push_back({line.sends[i].posted, here});
      line.sends.erase(line.sends.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (std::size_t i = 0; i < line.begun.size();) {
      if (!may_end(line.begun[i]) || below(2) == 0) {
        ++i;
        continue;
      }
      completed.push_back({line.begun[i].request, -3, -3});
      ends(line.begun[i], here);
      line.begun.erase(line.begun.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (!completed.empty()) program_.scripts[p].complete(std::move(completed));
  }

  // What a wildcard took is known by its completion alone; others are cancelled.
  void complete_wildcards(std::size_t p) {
    for (const Receive& receive : lines_[p].receives) {
      if (!PostedReceives::is_wildcard(receive.from, receive.tag)) continue;
      if (!receive.matched) {
        program_.scripts[p].complete({{receive.request, -3, -3}});
        continue;
      }
      program_.edges.push_back({receive.message.sent, next_moment(p)});
      program_.scripts[p].complete(
          {{receive.request, static_cast<std::int64_t>(receive.message.from_rank),
            receive.message.tag}});
    }
  }

  Call& call_of(const Begun& begun) { return groups_[begun.group].calls[begun.call]; }

  Begun enter(std::size_t p, std::size_t g) {
    Group& group = groups_[g];
    const std::size_t rank = rank_in(group, p);
    return {g, group.next[rank]++, rank, OrderEvent::kBlocking};
  }

  void collective(std::size_t p, std::size_t g, bool blocks) {
    Group& group = groups_[g];
    const std::size_t rank = rank_in(group, p);
    if (group.next[rank] == group.calls.size()) {
      Call call;
      call.name = kCollectives[below(std::size(kCollectives))];
      call.order = collective_call(call.name)->order;
      call.root = static_cast<std::int64_t>(below(group.members.size()));
      call.zero =
          call.order != CollectiveOrder::kFromSome && call.name != "MPI_Barrier" && below(6) == 0;
      group.calls.push_back(call);
    }
    if (group.calls[group.next[rank]].makes) {
      make(p, g);
      return;
    }
    Begun begun = enter(p, g);
    Call& call = call_of(begun);
    call.came[rank] = next_moment(p);
    begun.request = blocks ? OrderEvent::kBlocking : lines_[p].next_request++;
    Script& script = program_.scripts[p];
    script.collective(call.name, group.handle, call.root, begun.request);
    script.events.back().gives = script.events.back().takes = !call.zero;
    if (call.order == CollectiveOrder::kFromSome) {
      call.sources[rank] = {};
      const bool all = below(4) == 0;
      for (std::size_t other = 0; other < group.members.size(); ++other) {
        if (all || below(2) == 0) call.sources[rank].push_back(static_cast<std::int64_t>(other));
      }
      script.events.back().sources = call.sources[rank];
    }
    if (blocks) {
      block(p, begun, call.came[rank]);
    } else {
      lines_[p].begun.push_back(begun);
    }
  }

  void make(std::size_t p, std::size_t g) {
    Group& group = groups_[g];
    const std::size_t rank = rank_in(group, p);
    if (group.next[rank] == group.calls.size()) {
      Call call;
      call.splits = below(3) != 0;
      call.name = call.splits ? "MPI_Comm_split" : "MPI_Comm_dup";
      call.order = CollectiveOrder::kAllToAll;
      call.makes = true;
      group.calls.push_back(call);
    }
    if (!group.calls[group.next[rank]].makes) {
      collective(p, g, true);
      return;
    }
    Begun begun = enter(p, g);
    Call& call = call_of(begun);
    call.came[rank] = next_moment(p);
    const auto drawn = [&] { return static_cast<std::int64_t>(below(3)); };
    call.colours[rank] = call.splits ? Colour{drawn() - 1, drawn()} : Colour{0, 0};
    program_.scripts[p].make(call.name, 0, 0, -1, 0, group.handle);
    block(p, begun, call.came[rank]);
  }

  void block(std::size_t p, const Begun& begun, Moment at) {
    lines_[p].blocked = true;
    lines_[p].blocked_in = begun;
    lines_[p].blocked_at = at;
    try_end(p);
  }

  void try_end(std::size_t p) {
    Line& line = lines_[p];
    if (!may_end(line.blocked_in)) return;
    line.blocked = false;
    ends(line.blocked_in, line.blocked_at);
  }

  // Whether a rank cannot end before the other one has come.
  static bool gets_from(const Call& call, std::size_t rank, std::size_t other) {
    if (call.zero || rank == other) return false;
    switch (call.order) {
      case CollectiveOrder::kAllToAll:
        return true;
      case CollectiveOrder::kRootToAll:
        return static_cast<std::int64_t>(other) == call.root;
      case CollectiveOrder::kAllToRoot:
        return static_cast<std::int64_t>(rank) == call.root;
      case CollectiveOrder::kLowerToHigher:
        return other < rank;
      case CollectiveOrder::kFromSome:
        return std::ranges::count(call.sources.at(rank), static_cast<std::int64_t>(other)) != 0;
      case CollectiveOrder::kNothing:
        return false;
    }
    return false;
  }

  bool may_end(const Begun& begun) {
    const Call& call = call_of(begun);
    for (std::size_t other = 0; other < groups_[begun.group].members.size(); ++other) {
      if (gets_from(call, begun.rank, other) && !call.came.contains(other)) return false;
    }
    return true;
  }

  void ends(const Begun& begun, Moment at) {
    const Call& call = call_of(begun);
    for (const auto& [other, start] : call.came) {
      if (gets_from(call, begun.rank, other)) program_.edges.push_back({start, at});
    }
    if (call.makes) join(begun);
  }

  static std::int64_t handle_of(std::size_t group, std::size_t process) {
    return static_cast<std::int64_t>(1000 + 10 * group + process);
  }

  // The process becomes a member of the group that the call made.
  void join(const Begun& begun) {
    const std::size_t p = groups_[begun.group].members[begun.rank];
    const Colour mine = call_of(begun).colours[begun.rank];
    if (mine.colour < 0) return;
    if (!call_of(begun).made.contains(mine.colour)) {
      std::vector<std::pair<std::int64_t, std::size_t>> ranks;
      for (const auto& [rank, colour] : call_of(begun).colours) {
        if (colour.colour == mine.colour) ranks.emplace_back(colour.key, rank);
      }
      std::sort(ranks.begin(), ranks.end());
      Group made{0, {}, {}, std::vector<std::size_t>(ranks.size())};
      for (const auto& [key, rank] : ranks) {
        made.members.push_back(groups_[begun.group].members[rank]);
      }
      call_of(begun).made[mine.colour] = groups_.size();
      groups_.push_back(std::move(made));
    }
    const std::size_t made = call_of(begun).made[mine.colour];
    lines_[p].groups.push_back(made);
    OrderEvent& event = program_.scripts[p].events[call_of(begun).came[begun.rank].event];
    event.new_comm = handle_of(made, p);
    event.new_members = 1;
    for (const std::size_t member : groups_[made].members) {
      event.new_members = event.new_members * 8 + static_cast<std::int64_t>(member);
    }
    event.new_rank = static_cast<std::int64_t>(rank_in(groups_[made], p));
    event.new_size = static_cast<std::int64_t>(groups_[made].members.size());
    groups_[made].handle = static_cast<std::int64_t>(made);
  }

 public:
  // In scripts groups have numbers; each process has its own handle of a group.
  void name_groups() {
    for (std::size_t p = 0; p < program_.scripts.size(); ++p) {
      for (OrderEvent& event : program_.scripts[p].events) {
        const auto group = static_cast<std::size_t>(event.comm);
        if (group > 0 && group < groups_.size()) event.comm = handle_of(group, p);
      }
    }
  }

 private:
  std::mt19937_64 random_;
  DrawnProgram program_;
  std::vector<Line> lines_;
  std::deque<Group> groups_;
};

}  // namespace

DrawnProgram draw_program(std::uint64_t seed) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    Engine engine(seed * 1000 + attempt);
    if (!engine.run()) continue;
    engine.name_groups();
    return engine.take();
  }
}

}  // namespace iotune::analyzer
