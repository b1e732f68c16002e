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

bool Collectives::gets_from_all(const Instance& at, std::size_t rank) {
  switch (at.order) {
    case CollectiveOrder::kAllToAll:
      return true;
    case CollectiveOrder::kAllToRoot:
      return static_cast<std::int64_t>(rank) == at.root;
    case CollectiveOrder::kFromSome:
      return at.sources[rank].size() + 1 == at.came.size();
    default:
      return false;
  }
}

template <class Take>
void Collectives::each_source(const Instance& at, std::size_t rank, Take take) {
  const auto size = static_cast<std::int64_t>(at.came.size());
  const auto self = static_cast<std::int64_t>(rank);
  switch (at.order) {
    case CollectiveOrder::kRootToAll:
      if (at.root >= 0 && at.root < size && at.root != self) take(at.root);
      break;
    case CollectiveOrder::kLowerToHigher:
      for (std::int64_t lower = 0; lower < self && take(lower);) ++lower;
      break;
    case CollectiveOrder::kFromSome:
      for (const std::int64_t source : at.sources[rank]) {
        if (!take(source)) break;
      }
      break;
    default:
      break;
  }
}

// Each other rank once.
std::vector<std::int64_t> Collectives::sources_of(const OrderEvent& event, const Part& part) const {
  std::vector<std::int64_t> found = event.sources;
  const auto size = static_cast<std::int64_t>(members(part.comm).size());
  std::erase_if(found, [&](std::int64_t rank) {
    return rank < 0 || rank >= size || rank == static_cast<std::int64_t>(part.rank);
  });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
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
    if (at.order == CollectiveOrder::kRootToAll) at.known.resize(1);
    if (at.order == CollectiveOrder::kLowerToHigher) at.known.resize(size);
    if (at.order == CollectiveOrder::kFromSome) {
      at.known.resize(size);
      at.sources.resize(size);
    }
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
    if (!at.given_up) {  // else it was said already
      wrong = call_of(at.first, at.name, at.order, at.root) + " where " +
              call_of(now.process, event.name, event.order, event.root);
    }
    give_up(part);
  }
  if (!at.sources.empty()) at.sources[part.rank] = sources_of(event, part);
  const bool is_root = static_cast<std::int64_t>(part.rank) == at.root;
  const bool gives = event.gives && !at.given_up &&
                     (is_root || at.order != CollectiveOrder::kRootToAll) &&
                     at.order != CollectiveOrder::kNothing;
  const bool alone = at.order == CollectiveOrder::kRootToAll;
  if (gives && !alone && at.order != CollectiveOrder::kLowerToHigher) join(at, now);
  if (gives && !at.known.empty()) {
    at.known[alone ? 0 : part.rank] = now;
  } else {
    now.drop(*clocks_);
  }
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
  if (at.given_up || !part.takes) return true;
  if (gets_from_all(at, part.rank)) return at.arrived == at.came.size();
  bool all_came = true;
  each_source(at, part.rank, [&](std::int64_t rank) {
    return all_came = at.came[static_cast<std::size_t>(rank)] != 0;
  });
  return all_came;
}

std::vector<std::uint32_t> Collectives::missing(const Part& part) const {
  const Instance& at = instance(part);
  const Members& members = *comms_[part.comm].members;
  std::vector<std::uint32_t> result;
  const auto add_if_missing = [&](std::int64_t rank) {
    if (at.came[static_cast<std::size_t>(rank)] == 0) result.push_back(members.process(rank));
    return true;
  };
  if (gets_from_all(at, part.rank)) {
    for (std::size_t rank = 0; rank < at.came.size(); ++rank) {
      add_if_missing(static_cast<std::int64_t>(rank));
    }
  } else {
    each_source(at, part.rank, add_if_missing);
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
  for (Snapshot& known : at.known) known.drop(*clocks_);
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
    if (!gets_from_all(at, part.rank)) {
      each_source(at, part.rank, [&](std::int64_t rank) {
        const bool alone = at.order == CollectiveOrder::kRootToAll;
        const Snapshot& known = at.known[alone ? 0 : static_cast<std::size_t>(rank)];
        if (known) known.raise_in(*clocks_, row);
        return true;
      });
    } else if (at.joined != ClockStore::kNone) {
      clocks_->raise(row, at.joined);
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
