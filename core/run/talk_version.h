// The number of the talk among ranks (presence, the tuner's agreement, the merging of traces), to
// be raised whenever that changes. Executables of one job may have come with several versions of
// iotune: those that talk differently count apart, and so each finds that ranks are missing.
#pragma once

#define IOTUNE_TALK "-5"
