#include "tuner/hdf5/file_access.h"

#include <cstring>

#include "core/os/short_text.h"
#include "tuner/decision/outcome_notes.h"
#include "tuner/hdf5/cache_budget.h"
#include "tuner/hdf5/file_buffers.h"

namespace iotune::tuner {
namespace {

using Value = ShortText<96>;

// An alignment of A pads every object of at least `threshold` bytes by less than A: with a
// threshold of 4 A or more a file grows by a quarter at most.
constexpr std::uint64_t kThresholdPerAlignment = 4;

struct Pair {
  std::uint64_t first, second;
};
Pair alignment_of(const char* text) noexcept {
  const char* const comma = std::strchr(text, ',');
  Pair pair{parse_decimal(text), comma == nullptr ? 1 : parse_decimal(comma + 1)};
  const std::uint64_t least = kThresholdPerAlignment * pair.second;
  if (pair.second > 1 && pair.first < least) pair.first = least;
  return pair;
}

// One HDF5 file access parameter: how it is set and read.
struct FileParameter {
  const char* name;
  ProgramSet program_bit;
  bool only_creating;  // it steers allocation: no use on a file that exists
  bool (*set)(const Hdf5Api&, Hid, const char* value);
  // The text as applied, to compare with what `get` reads.
  void (*wanted)(const char* value, Value& to);
  bool (*get)(const Hdf5Api&, Hid, Value& to);
  // Why this HDF5 or this way of opening has no use for it; kNone: it has.
  Reason (*unfit)(const Hdf5Api&, const ListSettings& program, const FileOpening&,
                  const char* value) = nullptr;
  bool read_of_file = false;  // `get` asks the open file, not its access list
};

// H5F_libver_t. A version that this HDF5 does not know yet is not set, and read back as such.
constexpr const char* kFormats[] = {"earliest", "v18", "v110", "v112", "v114", "v200"};
int format_of(const char* text) noexcept {
  int format = 0;
  while (format < 5 && std::strcmp(kFormats[format], text) != 0) ++format;
  return format;
}

constexpr FileParameter kFileParameters[] = {
    {"alignment", kSetAlignment, true,
     [](const Hdf5Api& api, Hid fapl, const char* value) {
       const Pair pair = alignment_of(value);
       return api.H5Pset_alignment(fapl, pair.first, pair.second) >= 0;
     },
     [](const char* value, Value& to) {
       const Pair pair = alignment_of(value);
       to << pair.first << ',' << pair.second;
     },
     [](const Hdf5Api& api, Hid fapl, Value& to) {
       std::uint64_t threshold = 0, alignment = 0;
       if (api.H5Pget_alignment(fapl, &threshold, &alignment) < 0) return false;
       to << threshold << ',' << alignment;
       return true;
     }},
    {"meta_block_size", kSetMetaBlockSize, true,
     [](const Hdf5Api& api, Hid fapl, const char* value) {
       return api.H5Pset_meta_block_size(fapl, parse_decimal(value)) >= 0;
     },
     [](const char* value, Value& to) { to << value; },
     [](const Hdf5Api& api, Hid fapl, Value& to) {
       std::uint64_t bytes = 0;
       if (api.H5Pget_meta_block_size(fapl, &bytes) < 0) return false;
       to << bytes;
       return true;
     }},
    {"sieve_buf_size", kSetSieveBufSize, false,
     [](const Hdf5Api& api, Hid fapl, const char* value) {
       return api.H5Pset_sieve_buf_size(fapl, parse_decimal(value)) >= 0;
     },
     [](const char* value, Value& to) { to << value; },
     [](const Hdf5Api& api, Hid fapl, Value& to) {
       std::size_t bytes = 0;
       if (api.H5Pget_sieve_buf_size(fapl, &bytes) < 0) return false;
       to << bytes;
       return true;
     }},
    {"chunk_cache", kSetCache, false,
     [](const Hdf5Api& api, Hid fapl, const char* value) {
       int elements = 0;
       std::size_t slots = 0, bytes = 0;
       double w0 = 0;
       if (api.H5Pget_cache(fapl, &elements, &slots, &bytes, &w0) < 0) return false;
       const std::uint64_t wanted = parse_decimal(value);
       const std::uint64_t each = file_cache_bytes(own_cache_budget_bytes(), wanted);
       if (wanted > bytes && each <= bytes) return true;  // HDF5's own is as large
       const std::size_t least = chunk_slots(each);
       return api.H5Pset_cache(fapl, elements, slots < least ? least : slots, each, w0) >= 0;
     },
     [](const char* value, Value& to) { to << value; },
     [](const Hdf5Api& api, Hid fapl, Value& to) {
       int elements = 0;
       std::size_t slots = 0, bytes = 0;
       double w0 = 0;
       if (api.H5Pget_cache(fapl, &elements, &slots, &bytes, &w0) < 0) return false;
       to << bytes;
       return true;
     }},
    {"libver_low", kSetLibverBounds, true,
     [](const Hdf5Api& api, Hid fapl, const char* value) {
       int low = 0, high = 0;
       if (api.H5Pget_libver_bounds(fapl, &low, &high) < 0) return false;
       const int wanted = format_of(value);
       return wanted > high || api.H5Pset_libver_bounds(fapl, wanted, high) >= 0;
     },
     [](const char* value, Value& to) { to << value; },
     [](const Hdf5Api& api, Hid fapl, Value& to) {
       int low = -1, high = 0;
       if (api.H5Pget_libver_bounds(fapl, &low, &high) < 0) return false;
       if (low >= 0 && low < 6) to << kFormats[low];
       return true;
     }},
    {"coll_metadata_write", kSetCollMetadataWrite, false,
     [](const Hdf5Api& api, Hid fapl, const char* value) {
       return api.H5Pset_coll_metadata_write != nullptr &&
              api.H5Pset_coll_metadata_write(fapl, std::strcmp(value, "enable") == 0) >= 0;
     },
     [](const char* value, Value& to) { to << value; },
     [](const Hdf5Api& api, Hid fapl, Value& to) {
       bool collective = false;
       if (api.H5Pget_coll_metadata_write == nullptr ||
           api.H5Pget_coll_metadata_write(fapl, &collective) < 0) {
         return false;
       }
       to << (collective ? "enable" : "disable");
       return true;
     }},
    // A library that refuses one of these leaves the list as it was, and the file tells so.
    {"page_buffer", kSetPageBuffer, false,
     [](const Hdf5Api& api, Hid fapl, const char* value) {
       set_page_buffer(api, fapl, parse_decimal(value));
       return true;
     },
     [](const char* value, Value& to) { to << value; },
     [](const Hdf5Api& api, Hid fapl, Value& to) {
       std::uint64_t bytes = 0;
       if (!get_page_buffer(api, fapl, bytes)) return false;
       to << bytes;
       return true;
     },
     [](const Hdf5Api& api, const ListSettings& program, const FileOpening& opening,
        const char* value) {
       return unfit_page_buffer(api, program.mpio, opening.only_reads, parse_decimal(value));
     }},
    {"mdc_size", kSetMetadataCache, false,
     [](const Hdf5Api& api, Hid fapl, const char* value) {
       set_metadata_cache(api, fapl, parse_decimal(value));
       return true;
     },
     [](const char* value, Value& to) { to << value; },
     [](const Hdf5Api& api, Hid file, Value& to) {
       std::uint64_t bytes = 0;
       if (!get_metadata_cache(api, file, bytes)) return false;
       to << bytes;
       return true;
     },
     [](const Hdf5Api& api, const ListSettings&, const FileOpening&, const char* value) {
       return unfit_metadata_cache(api, parse_decimal(value));
     },
     true},
    {"evict_on_close", kSetEvictOnClose, false,
     [](const Hdf5Api& api, Hid fapl, const char* value) {
       api.H5Pset_evict_on_close(fapl, std::strcmp(value, "enable") == 0);
       return true;
     },
     [](const char* value, Value& to) { to << value; },
     [](const Hdf5Api& api, Hid fapl, Value& to) {
       bool evicts = false;
       if (api.H5Pget_evict_on_close == nullptr || api.H5Pget_evict_on_close(fapl, &evicts) < 0) {
         return false;
       }
       to << (evicts ? "enable" : "disable");
       return true;
     },
     [](const Hdf5Api& api, const ListSettings&, const FileOpening&, const char*) {
       return unfit_evict_on_close(api);
     }},
};

const FileParameter* find(const char* name) noexcept {
  for (const FileParameter& parameter : kFileParameters) {
    if (std::strcmp(parameter.name, name) == 0) return &parameter;
  }
  return nullptr;
}

// Reason::kNone where it is to be set.
Reason why_not(const Hdf5Api& api, const FileParameter& parameter, const ListSettings& program,
               const FileOpening& opening, const char* value) noexcept {
  if ((program.set_by_program & parameter.program_bit) != 0) return Reason::kProgramSetIt;
  if (parameter.program_bit == kSetCollMetadataWrite && !program.mpio) {
    return Reason::kNotThroughMpiIo;
  }
  if (parameter.only_creating && !opening.creating) {
    return Reason::kFileExists;
  }
  return parameter.unfit == nullptr ? Reason::kNone : parameter.unfit(api, program, opening, value);
}

// Calls `visit(parameter, index of the setting, its value, reason)` for each setting of this layer.
template <typename Visit>
void each(const Hdf5Api& api, const ListSettings& program, const Decision& decision,
          const FileOpening& opening, Visit visit) noexcept {
  for (int i = 0; i < decision.setting_count; ++i) {
    const Setting setting = setting_of(decision, i);
    const FileParameter* const parameter = find(setting.name);
    if (parameter == nullptr) continue;
    visit(*parameter, i, setting.value, why_not(api, *parameter, program, opening, setting.value));
  }
}

}  // namespace

bool concerns_file_access(const Decision& decision) noexcept {
  for (int i = 0; i < decision.setting_count; ++i) {
    if (find(setting_of(decision, i).name) != nullptr) return true;
  }
  return false;
}

void add_file_access(const Hdf5Api& api, const ListSettings& program, const Decision& decision,
                     const FileOpening& opening, CallAttempts& attempts) noexcept {
  each(api, program, decision, opening,
       [&](const FileParameter&, int index, const char*, Reason reason) {
         if (reason == Reason::kNone) add_candidate(attempts, index);
       });
}

bool set_file_access(const Hdf5Api& api, Hid fapl, const ListSettings& program,
                     const Decision& decision, const FileOpening& opening,
                     const CallAttempts& attempts) noexcept {
  bool whole = true;
  each(api, program, decision, opening,
       [&](const FileParameter& parameter, int index, const char* value, Reason reason) {
         if (reason != Reason::kNone || is_left_out(attempts, index)) return;
         whole = parameter.set(api, fapl, value) && whole;
       });
  return whole;
}

std::uint64_t hash_file_access(const Hdf5Api& api, std::uint64_t hash, const ListSettings& program,
                               const Decision& decision, const FileOpening& opening) noexcept {
  each(api, program, decision, opening,
       [&](const FileParameter& parameter, int, const char* value, Reason reason) {
         if (reason != Reason::kNone) return;
         hash = hash_text(hash_text(hash, parameter.name), value);
       });
  return hash;
}

void note_file_access(const Hdf5Api& api, Hid file, Hid opened, const char* path,
                      const ListSettings& program, const Decision& decision,
                      const FileOpening& opening, const CallAttempts& attempts) noexcept {
  each(api, program, decision, opening,
       [&](const FileParameter& parameter, int index, const char* value, Reason reason) {
         const bool failed = reason == Reason::kNone && is_left_out(attempts, index);
         if (failed) reason = Reason::kCallFailed;
         Value wanted, got;
         parameter.wanted(value, wanted);
         const bool readable = parameter.get(api, parameter.read_of_file ? file : opened, got);
         // The file's default only: what became of it is noted by dataset.
         if (reason == Reason::kNone && parameter.program_bit == kSetCache) return;
         if (reason != Reason::kNone) {
           note_setting(path, parameter.name, value, got.c_str(), Verdict::kRefused,
                        {reason, failed ? attempts.words.c_str() : ""});
         } else if (!readable) {
           note_setting(path, parameter.name, wanted.c_str(), "", Verdict::kUnverifiable,
                        {Reason::kAccessListUnreadable});
         } else if (parameter.program_bit == kSetEvictOnClose) {
           // Up to HDF5 2.2 an open file's list says "disable" whatever holds.
           const bool has_it = std::strcmp(got.c_str(), "enable") == 0;
           note_setting(path, parameter.name, wanted.c_str(), has_it ? got.c_str() : "",
                        has_it ? Verdict::kApplied : Verdict::kUnverifiable,
                        {has_it ? Reason::kNone : Reason::kEvictionUnreported});
         } else if (parameter.program_bit == kSetPageBuffer) {
           // Whole pages of the file, which only now are known.
           const bool has_one = parse_decimal(got.c_str()) != 0;
           note_setting(path, parameter.name, wanted.c_str(), got.c_str(),
                        has_one ? Verdict::kApplied : Verdict::kWithoutEffect,
                        {has_one ? Reason::kNone : Reason::kNotPaged});
         } else if (std::strcmp(wanted.c_str(), got.c_str()) != 0) {
           note_setting(path, parameter.name, wanted.c_str(), got.c_str(), Verdict::kWithoutEffect,
                        {Reason::kHdf5KeptAnotherValue});
         } else {
           const bool raised = std::strcmp(wanted.c_str(), value) != 0;
           note_setting(path, parameter.name, wanted.c_str(), got.c_str(), Verdict::kApplied,
                        {raised ? Reason::kThresholdRaised : Reason::kNone});
         }
       });
}

}  // namespace iotune::tuner
