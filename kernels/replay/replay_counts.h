/* What a process did so far, in counts that do not hang on how busy the storage is. */
#ifndef IOTUNE_REPLAY_COUNTS_H
#define IOTUNE_REPLAY_COUNTS_H

enum replay_count {
  REPLAY_PROCESSOR_SECONDS, /* of all threads, in the kernel too */
  REPLAY_SYSTEM_CALLS,      /* that read or write, asking for counts left out */
  REPLAY_MOVED_BYTES,       /* by these */
  REPLAY_COUNTS
};

/* Of this process. Calls and bytes are 0 where the kernel does not tell them. */
void replay_count(double counts[REPLAY_COUNTS]);

#endif
