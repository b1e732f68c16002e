#include "analyzer/order/replay/messages.h"

namespace iotune::analyzer {
namespace {

// Tags that are used once leave empty channels behind.
constexpr std::size_t kSweepAt = 4096;

}  // namespace

std::size_t ChannelHash::operator()(const ChannelKey& key) const {
  std::uint64_t hash = 0;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29U;
  };
  mix((std::uint64_t{key.comm} << 32U) | key.series);
  mix((std::uint64_t{key.from} << 32U) | key.to);
  mix(static_cast<std::uint64_t>(key.tag));
  return hash;
}

Messages::Slot& Messages::slot(Channel& channel, std::uint64_t number) {
  const std::size_t place = channel.head + static_cast<std::size_t>(number - channel.base);
  if (place >= channel.slots.size()) channel.slots.resize(place + 1);
  return channel.slots[place];
}

void Messages::drain(Channel& channel) {
  while (channel.head < channel.slots.size() && channel.slots[channel.head].done &&
         !channel.slots[channel.head].waits && channel.base < channel.sends &&
         channel.base < channel.posts) {
    ++channel.head;
    ++channel.base;
  }
  if (channel.head == channel.slots.size()) {
    channel.slots.clear();
    channel.head = 0;
  } else if (channel.head > 64 && channel.head * 2 > channel.slots.size()) {
    channel.slots.erase(channel.slots.begin(),
                        channel.slots.begin() + static_cast<std::ptrdiff_t>(channel.head));
    channel.head = 0;
  }
  const auto is_empty = [](const Channel& of) {
    return of.slots.empty() && of.base == of.sends && of.base == of.posts;
  };
  if (!is_empty(channel)) return;
  if (++drained_ < kSweepAt || drained_ < channels_.size() / 2) return;
  drained_ = 0;
  if (channels_.size() < kSweepAt / 2) return;
  std::erase_if(channels_, [&](const auto& entry) { return is_empty(entry.second); });
}

Posted Messages::send(const ChannelKey& key, Snapshot snapshot, bool synchronous) {
  Channel& channel = channels_[key];
  const Posted sent{key, channel.sends++};
  Slot& at = slot(channel, sent.number);
  at.waits = synchronous;
  if (!synchronous) at.post.drop(*clocks_);
  if (at.done) {
    snapshot.drop(*clocks_);
    drain(channel);
  } else {
    at.snapshot = snapshot;
  }
  return sent;
}

Posted Messages::post(const ChannelKey& key, Snapshot snapshot) {
  Channel& channel = channels_[key];
  const Posted posted{key, channel.posts++};
  Slot& at = slot(channel, posted.number);
  if (channel.sends > posted.number && !at.waits) {
    snapshot.drop(*clocks_);
  } else {
    at.post = snapshot;
  }
  return posted;
}

bool Messages::sent(const Posted& posted) const {
  const auto found = channels_.find(posted.channel);
  return found != channels_.end() && found->second.sends > posted.number;
}

Snapshot Messages::take(const Posted& posted) {
  Channel& channel = channels_[posted.channel];
  Slot& at = slot(channel, posted.number);
  const Snapshot result = at.snapshot;
  at.snapshot = Snapshot();
  at.done = true;
  drain(channel);
  return result;
}

bool Messages::was_posted(const Posted& sent) const {
  const auto found = channels_.find(sent.channel);
  return found != channels_.end() && found->second.posts > sent.number;
}

Snapshot Messages::take_post(const Posted& sent) {
  Channel& channel = channels_[sent.channel];
  Slot& at = slot(channel, sent.number);
  const Snapshot result = at.post;
  at.post = Snapshot();
  at.waits = false;
  drain(channel);
  return result;
}

void Messages::give_up_post(const Posted& sent) {
  take_post(sent).drop(*clocks_);
}

void Messages::give_up(const Posted& posted) {
  Channel& channel = channels_[posted.channel];
  if (posted.number < channel.base) return;
  Slot& at = slot(channel, posted.number);
  at.snapshot.drop(*clocks_);
  at.done = true;
  drain(channel);
}

}  // namespace iotune::analyzer
