#include "analyzer/order/replay/collectives.h"

#include <algorithm>

namespace iotune::analyzer {

CommId Collectives::add(std::shared_ptr<Members> members) {
  Comm comm;
  comm.calls.resize(members->size());
  comm.members = std::move(members);
  comms_.push_back(std::move(comm));
  return static_cast<CommId>(comms_.size() - 1);
}

CommId Collectives::made(const CommOrigin& origin, std::uint64_t number, std::uint32_t process,
                         const OrderEvent& event) {
  const auto of_parent = static_cast<std::int64_t>(members(origin.parent).size());
  if (event.new_size > of_parent || event.new_rank < 0 || event.new_rank >= event.new_size) {
    return kUnknownComm;
  }
  const auto size = static_cast<std::size_t>(event.new_size);
  const auto [found, is_new] = made_.try_emplace({origin, number}, kUnknownComm);
  if (is_new) found->second = add(std::make_shared<Members>(size));
  Members& members = *comms_[found->second].members;
  if (members.size() != size || members.process(event.new_rank) != Members::kNotYet) {
    return kUnknownComm;
  }
  members.set(static_cast<std::size_t>(event.new_rank), process);
  return found->second;
}

CommId Collectives::opened(const CommOrigin& origin, std::uint64_t number) {
  const auto [found, is_new] = made_.try_emplace({origin, number}, kUnknownComm);
  if (is_new) found->second = add(comms_[origin.parent].members);
  return found->second;
}

Part Collectives::next_part(CommId comm, std::uint32_t process, const OrderEvent& event) {
  Part part{comm, 0, comms_[comm].members->rank(process), event.takes};
  if (part.rank == SIZE_MAX) return {};
  part.number = comms_[comm].calls[part.rank]++;
  return part;
}

std::optional<std::string> Collectives::arrive(const Part& part, const OrderEvent& event,
                                               Snapshot now) {
  Comm& comm = comms_[part.comm];
  while (comm.base + comm.open.size() <= part.number) comm.open.emplace_back();
  Instance& at = instance(part);
  const std::size_t size = comm.members->size();
  if (at.arrived == 0) {
    at.name = event.name;
    at.first = now.process;
    at.order = event.order;
    at.root = event.root;
    at.came.resize(size);
    if (at.order == CollectiveOrder::kLowerToHigher) at.by_rank.resize(size);
  }
  ++at.arrived;
  at.came[part.rank] = 1;
  std::optional<std::string> wrong;
  const auto has_root = [](CollectiveOrder order) {
    return order == CollectiveOrder::kRootToAll || order == CollectiveOrder::kAllToRoot;
  };
  if (event.name != at.name || (has_root(event.order) && event.root != at.root)) {
    const auto call_of = [&](std::uint32_t process, std::string_view name, CollectiveOrder order,
                             std::int64_t root) {
      return (*names_)[process] + " calls " + std::string(name) +
             (has_root(order) ? " with root " + std::to_string(root) : "");
    };
    wrong = call_of(at.first, at.name, at.order, at.root) + " where " +
            call_of(now.process, event.name, event.order, event.root);
    if (at.given_up) wrong.reset();  // said already
    drop_rows(at);
    at.given_up = true;
  }
  if (at.given_up || !event.gives) {
    if (part.rank == static_cast<std::size_t>(at.root)) at.has_root = true;
    now.drop(*clocks_);
    return wrong;
  }
  switch (at.order) {
    case CollectiveOrder::kRootToAll:
      if (static_cast<std::int64_t>(part.rank) != at.root) break;
      at.has_root = true;
      at.root_knows = now;
      return wrong;
    case CollectiveOrder::kAllToAll:
    case CollectiveOrder::kAllToRoot:
      join(at, now);
      break;
    case CollectiveOrder::kLowerToHigher:
      at.by_rank[part.rank] = now;
      return wrong;
    case CollectiveOrder::kNothing:
      break;
  }
  now.drop(*clocks_);
  return wrong;
}

void Collectives::join(Instance& at, const Snapshot& now) {
  if (at.joined == ClockStore::kNone) {
    at.joined = clocks_->hold(now.row);
  } else if (at.last != now.row) {
    clocks_->raise(at.joined, now.row);
  }
  if (at.last != now.row) {
    if (at.last != ClockStore::kNone) clocks_->drop(at.last);
    at.last = clocks_->hold(now.row);
  }
  clocks_->raise(at.joined, now.process, now.over);
}

bool Collectives::may_end(const Part& part) const {
  const Instance& at = instance(part);
  if (at.given_up) return true;
  if (!part.takes) return true;
  switch (at.order) {
    case CollectiveOrder::kNothing:
      return true;
    case CollectiveOrder::kAllToAll:
      return at.arrived == at.came.size();
    case CollectiveOrder::kRootToAll:
      return at.has_root || static_cast<std::int64_t>(part.rank) == at.root;
    case CollectiveOrder::kAllToRoot:
      return static_cast<std::int64_t>(part.rank) != at.root || at.arrived == at.came.size();
    case CollectiveOrder::kLowerToHigher:
      return std::all_of(at.came.begin(), at.came.begin() + static_cast<std::ptrdiff_t>(part.rank),
                         [](char came) { return came != 0; });
  }
  return true;
}

std::vector<std::uint32_t> Collectives::missing(const Part& part) const {
  const Instance& at = instance(part);
  const Members& members = *comms_[part.comm].members;
  std::vector<std::uint32_t> result;
  const bool root_alone = at.order == CollectiveOrder::kRootToAll;
  const std::size_t end = at.order == CollectiveOrder::kLowerToHigher ? part.rank : at.came.size();
  for (std::size_t rank = 0; rank < end; ++rank) {
    const bool waits = !root_alone || static_cast<std::int64_t>(rank) == at.root;
    if (waits && at.came[rank] == 0) {
      result.push_back(members.process(static_cast<std::int64_t>(rank)));
    }
  }
  return result;
}

std::string_view Collectives::name(const Part& part) const {
  return instance(part).name;
}

void Collectives::drop_rows(Instance& at) {
  for (ClockStore::Row* const row : {&at.joined, &at.last}) {
    if (*row != ClockStore::kNone) clocks_->drop(*row);
    *row = ClockStore::kNone;
  }
  at.root_knows.drop(*clocks_);
  for (Snapshot& snapshot : at.by_rank) snapshot.drop(*clocks_);
}

void Collectives::give_up(const Part& part) {
  Instance& at = instance(part);
  at.given_up = true;
  drop_rows(at);
}

bool Collectives::end(const Part& part, ClockStore::Row& row) {
  Instance& at = instance(part);
  const bool is_whole = !at.given_up;
  if (part.takes && is_whole) {
    switch (at.order) {
      case CollectiveOrder::kAllToRoot:
        if (static_cast<std::int64_t>(part.rank) != at.root) break;
        [[fallthrough]];
      case CollectiveOrder::kAllToAll:
        if (at.joined != ClockStore::kNone) clocks_->raise(row, at.joined);
        break;
      case CollectiveOrder::kRootToAll:
        if (at.root_knows) at.root_knows.raise_in(*clocks_, row);
        break;
      case CollectiveOrder::kLowerToHigher:
        for (std::size_t rank = 0; rank < part.rank; ++rank) {
          if (at.by_rank[rank]) at.by_rank[rank].raise_in(*clocks_, row);
        }
        break;
      case CollectiveOrder::kNothing:
        break;
    }
  }
  ++at.ended;
  Comm& comm = comms_[part.comm];
  while (!comm.open.empty() && comm.open.front().ended == comm.members->size()) {
    drop_rows(comm.open.front());
    comm.open.pop_front();
    ++comm.base;
  }
  return is_whole;
}

}  // namespace iotune::analyzer
