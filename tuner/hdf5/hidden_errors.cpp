#include "tuner/hdf5/hidden_errors.h"

#include <cstring>

namespace iotune::tuner {
namespace {

// H5E_error2_t.
struct ErrorFrame {
  Hid error_class, major, minor;
  unsigned line;
  const char *function, *source, *text;
};

struct Words {
  char* to;
  std::size_t bytes;
};

int take_words(unsigned, const void* frame, void* words_to) noexcept {
  constexpr int kStop = 1;
  const char* const text = static_cast<const ErrorFrame*>(frame)->text;
  if (text == nullptr || text[0] == '\0') return 0;
  const auto* const words = static_cast<const Words*>(words_to);
  const std::size_t length = strnlen(text, words->bytes - 1);
  std::memcpy(words->to, text, length);
  words->to[length] = '\0';
  return kStop;
}

}  // namespace

void hide_errors(const Hdf5Api& api, HiddenErrors& errors) noexcept {
  unsigned is_new = 1;
  if (api.H5Eauto_is_v2 != nullptr) api.H5Eauto_is_v2(0, &is_new);
  errors.old_form = is_new == 0;
  if (!errors.old_form) {
    errors.hidden = api.H5Eget_auto2(0, &errors.function, &errors.argument) >= 0 &&
                    api.H5Eset_auto2(0, nullptr, nullptr) >= 0;
  } else if (api.H5Eget_auto1 != nullptr && api.H5Eset_auto1 != nullptr) {
    errors.hidden = api.H5Eget_auto1(&errors.function, &errors.argument) >= 0 &&
                    api.H5Eset_auto1(nullptr, nullptr) >= 0;
  }
}

void show_errors(const Hdf5Api& api, HiddenErrors& errors) noexcept {
  if (!errors.hidden) return;
  errors.hidden = false;
  if (errors.old_form) {
    api.H5Eset_auto1(errors.function, errors.argument);
  } else {
    api.H5Eset_auto2(0, errors.function, errors.argument);
  }
}

void call_handler(const HiddenErrors& errors) noexcept {
  if (errors.function == nullptr) return;
  if (errors.old_form) {
    reinterpret_cast<int (*)(void*)>(errors.function)(errors.argument);
  } else {
    reinterpret_cast<int (*)(Hid, void*)>(errors.function)(0, errors.argument);
  }
}

void copy_last_words(const Hdf5Api& api, char* to, std::size_t bytes) noexcept {
  to[0] = '\0';
  Words words{to, bytes};
  api.H5Ewalk2(0, 0, take_words, &words);  // H5E_DEFAULT, H5E_WALK_UPWARD
}

void hide_file_errors(const MpiApi& mpi, HiddenFileErrors& errors) noexcept {
  errors = {};
  if (mpi.MPI_File_get_errhandler(mpi.constants.file_null, &errors.handler) != 0) {
    return;
  }
  const Word differs = errors.handler ^ mpi.constants.errors_return;
  errors.hidden =
      (differs & mpi.constants.handle_mask) != 0 &&
      mpi.MPI_File_set_errhandler(mpi.constants.file_null, mpi.constants.errors_return) == 0;
  if (!errors.hidden) mpi.MPI_Errhandler_free(&errors.handler);
}

void show_file_errors(const MpiApi& mpi, HiddenFileErrors& errors) noexcept {
  if (!errors.hidden) return;
  errors.hidden = false;
  mpi.MPI_File_set_errhandler(mpi.constants.file_null, errors.handler);
  mpi.MPI_Errhandler_free(&errors.handler);
}

}  // namespace iotune::tuner
