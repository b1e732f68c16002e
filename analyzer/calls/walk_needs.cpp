#include "analyzer/calls/walk_needs.h"

#include "analyzer/bytes/bytes_below.h"
#include "analyzer/calls/call_facts.h"

namespace iotune::analyzer {
namespace {

using recorder::CallStream;

// By these LateBytes tells what a transfer left in HDF5's buffers.
bool is_write_of_hdf5(const CallStream& stream) {
  return stream.layers == kInHdf5 && stream.signature->transfer &&
         facts_of(*stream.signature).writes;
}

// By these ByteShares tells where a transfer without a place lies.
bool is_below_mpi_io(const CallStream& stream) {
  return stream.layers == kInMpiIo && stream.signature != nullptr && stream.signature->transfer;
}

// What orders processes is no I/O.
bool is_of_order(const CallStream& stream) {
  return stream.signature != nullptr && stream.signature->meaning.order;
}

bool only_asks(const recorder::CallSignature& signature) {
  return signature.meaning.verb == recorder::Verb::kAsks && !signature.meaning.calls_back;
}

// Nothing else that Walk does depends on calls of POSIX that a library made for itself, nor on its
// transfers of MPI-IO, but where they open files.
bool is_left_out(const CallStream& stream) {
  if (is_of_order(stream)) return true;
  if (stream.signature == nullptr || stream.layers == 0) return false;
  const CallFacts& facts = facts_of(*stream.signature);
  if (is_write_of_hdf5(stream) || is_below_mpi_io(stream)) return false;
  switch (stream.signature->layer) {
    case Layer::kPosix:
    case Layer::kStdio:
      return !facts.waits_for_note;
    case Layer::kMpiIo:
      return stream.signature->transfer;
    default:
      return false;
  }
}

// Calls whose order does not matter, where there are no others: transfers, what is made on
// descriptors but for their opening and closing, and HDF5's calls on what is in memory alone.
bool is_counted_in_totals(const CallStream& stream) {
  if (is_left_out(stream)) return true;
  if (stream.signature == nullptr) return false;
  const CallFacts& facts = facts_of(*stream.signature);
  switch (stream.signature->layer) {
    case Layer::kPosix:
    case Layer::kStdio:
      return !facts.waits_for_note && !facts.closes_file;
    case Layer::kMpiIo:
      return stream.signature->transfer;
    case Layer::kHdf5:
      return stream.layers == 0 && (!facts.has_file || moves_one_dataset(*stream.signature) ||
                                    only_asks(*stream.signature));
    default:
      return false;
  }
}

}  // namespace

bool moves_one_dataset(const recorder::CallSignature& signature) {
  return signature.layer == Layer::kHdf5 && signature.transfer && facts_of(signature).of_dataset &&
         signature.meaning.result_place != recorder::CallMeaning::kNowhere;
}

recorder::WalkNeeds walk_needs() {
  return {is_counted_in_totals, is_left_out, is_of_order};
}

}  // namespace iotune::analyzer
