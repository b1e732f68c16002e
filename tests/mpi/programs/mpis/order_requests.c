/* order_requests: calls between two ranks that later ones complete, by each of these
 * (order_say.h). */
#include "order_say.h"

enum { kMany = 4, kVeryMany = 2500, kPiece = 1024 };

static MPI_Request send_request(int tag) {
  MPI_Request request;
  const int done = MPI_Isend(&g_rank, 1, MPI_INT, g_other, tag, MPI_COMM_WORLD, &request);
  SAY("MPI_Isend", 1, g_other, tag, of_comm(MPI_COMM_WORLD), of_request(request), done);
  return request;
}

static MPI_Request receive_request(int* value, int source, int tag) {
  MPI_Request request;
  const int done = MPI_Irecv(value, 1, MPI_INT, source, tag, MPI_COMM_WORLD, &request);
  SAY("MPI_Irecv", 1, of_rank(source), of_tag(tag), of_comm(MPI_COMM_WORLD), of_request(request),
      done);
  return request;
}

static void wait_for(MPI_Request* request, int ignores, long long source, long long tag) {
  MPI_Status own, *const status = ignores ? MPI_STATUS_IGNORE : &own;
  const long long before = of_request(*request);
  const int done = MPI_Wait(request, status);
  if (source >= 0) check_status(status, (int)source, (int)tag);
  SAY("MPI_Wait", before, done, source, tag);
}

/* The line of a call on an array: what comes before, the requests, and behind them. */
static void say_array(const char* name, int count, const long long* requests,
                      const long long* statuses, int done) {
  long long* line = malloc(sizeof *line * (size_t)(3 * count + 4));
  size_t used = 0;
  line[used++] = count;
  line[used++] = count;
  for (int i = 0; i < count; ++i) line[used++] = requests[i];
  if (statuses != NULL) {
    line[used++] = 2 * count;
    for (int i = 0; i < 2 * count; ++i) line[used++] = statuses[i];
  }
  line[used++] = done;
  say(name, line, used);
  free(line);
}

/* kMany receives and then as many sends, whose tags follow each other. */
static void begin_many(int* values, MPI_Request* requests, long long* before, long long* got) {
  for (int i = 0; i < kMany; ++i) {
    requests[i] = receive_request(&values[i], i % 2 ? MPI_ANY_SOURCE : g_other, kTag + i);
    got[2 * i] = g_other;
    got[2 * i + 1] = kTag + i;
  }
  for (int i = kMany; i < 2 * kMany; ++i) {
    requests[i] = send_request(kTag + i - kMany);
    got[2 * i] = got[2 * i + 1] = kAnything;
  }
  for (int i = 0; i < 2 * kMany; ++i) before[i] = of_request(requests[i]);
}

static void all_of_them(int ignores) {
  int values[kMany], flag, done;
  MPI_Request requests[2 * kMany];
  MPI_Status own[2 * kMany], *const statuses = ignores ? MPI_STATUSES_IGNORE : own;
  long long before[2 * kMany], got[4 * kMany];
  begin_many(values, requests, before, got);
  done = MPI_Waitall(2 * kMany, requests, statuses);
  if (!ignores) check_status(&own[1], g_other, kTag + 1);
  say_array("MPI_Waitall", 2 * kMany, before, got, done);
  begin_many(values, requests, before, got);
  for (flag = 0; !flag;) done = MPI_Testall(2 * kMany, requests, &flag, statuses);
  say_array("MPI_Testall", 2 * kMany, before, got, done);
  done = MPI_Waitall(0, NULL, statuses);
  SAY("MPI_Waitall", 0, 0, 0, done);
}

static void one_of_them(int ignores) {
  int values[kMany], index, flag;
  MPI_Request requests[2 * kMany];
  MPI_Status own, *const status = ignores ? MPI_STATUS_IGNORE : &own;
  long long before[2 * kMany], got[4 * kMany];
  for (int tests = 0; tests < 2; ++tests) {
    begin_many(values, requests, before, got);
    for (int i = 0; i < 2 * kMany; ++i) {
      int done = MPI_SUCCESS;
      if (tests) {
        for (flag = 0; !flag;) done = MPI_Testany(2 * kMany, requests, &index, &flag, status);
      } else {
        done = MPI_Waitany(2 * kMany, requests, &index, status);
      }
      SAY(tests ? "MPI_Testany" : "MPI_Waitany", 2 * kMany, before[index], index, done,
          got[2 * index], got[2 * index + 1]);
    }
    const int done = MPI_Waitany(2 * kMany, requests, &index, status);
    SAY("MPI_Waitany", 2 * kMany, 0, MPI_UNDEFINED, done, kNothing, kNothing);
  }
}

static void some_of_them(int ignores) {
  int values[kMany], indices[2 * kMany], count;
  MPI_Request requests[2 * kMany];
  MPI_Status own[2 * kMany], *const statuses = ignores ? MPI_STATUSES_IGNORE : own;
  long long before[2 * kMany], got[4 * kMany];
  for (int tests = 0; tests < 2; ++tests) {
    begin_many(values, requests, before, got);
    for (int left = 2 * kMany; left > 0; left -= count) {
      int done = MPI_SUCCESS;
      if (tests) {
        for (count = 0; count == 0;) {
          done = MPI_Testsome(2 * kMany, requests, &count, indices, statuses);
        }
      } else {
        done = MPI_Waitsome(2 * kMany, requests, &count, indices, statuses);
      }
      long long line[4 + 6 * kMany];
      size_t used = 0;
      line[used++] = 2 * kMany;
      line[used++] = count;
      for (int i = 0; i < count; ++i) line[used++] = before[indices[i]];
      line[used++] = count;
      line[used++] = 2 * count;
      for (int i = 0; i < count; ++i) {
        line[used++] = got[2 * indices[i]];
        line[used++] = got[2 * indices[i] + 1];
      }
      line[used++] = done;
      say(tests ? "MPI_Testsome" : "MPI_Waitsome", line, used);
    }
  }
}

static void one(int ignores) {
  MPI_Status own, *const status = ignores ? MPI_STATUS_IGNORE : &own;
  int value, flag, done;
  MPI_Request sent = send_request(kTag);
  MPI_Request request = receive_request(&value, MPI_ANY_SOURCE, MPI_ANY_TAG);
  wait_for(&request, ignores, g_other, kTag);
  wait_for(&sent, ignores, kAnything, kAnything);
  wait_for(&request, ignores, kNothing, kNothing); /* it is MPI_REQUEST_NULL by now */
  request = receive_request(&value, g_other, MPI_ANY_TAG);
  sent = send_request(kTag + 1);
  long long before = of_request(sent);
  SAY("MPI_Request_free", before, MPI_Request_free(&sent));
  before = of_request(request);
  for (flag = 0; !flag;) done = MPI_Request_get_status(request, &flag, status);
  SAY("MPI_Request_get_status", before, done, g_other, kTag + 1);
  for (flag = 0; !flag;) done = MPI_Test(&request, &flag, status);
  check_status(status, g_other, kTag + 1);
  SAY("MPI_Test", before, done, g_other, kTag + 1);
  /* One that nobody sends to. */
  request = receive_request(&value, g_other, kTag + 99);
  before = of_request(request);
  SAY("MPI_Cancel", before, MPI_Cancel(&request));
  wait_for(&request, ignores, kNothing, kNothing);
}

typedef int (*Begins)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

static void modes(int ignores) {
  static char room[1000];
  const struct {
    Begins begins;
    const char* name;
  } sends[] = {{MPI_Ibsend, "MPI_Ibsend"}, {MPI_Issend, "MPI_Issend"}, {MPI_Irsend, "MPI_Irsend"}};
  int values[3];
  MPI_Request requests[3], sent[3];
  MPI_Buffer_attach(room, (int)sizeof room);
  for (int i = 0; i < 3; ++i) requests[i] = receive_request(&values[i], g_other, kTag + i);
  barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 3; ++i) {
    const int done =
        sends[i].begins(&g_rank, 1, MPI_INT, g_other, kTag + i, MPI_COMM_WORLD, &sent[i]);
    SAY(sends[i].name, 1, g_other, kTag + i, of_comm(MPI_COMM_WORLD), of_request(sent[i]), done);
  }
  for (int i = 0; i < 3; ++i) wait_for(&requests[i], ignores, g_other, kTag + i);
  for (int i = 0; i < 3; ++i) wait_for(&sent[i], ignores, kAnything, kAnything);
  char* back;
  int bytes;
  MPI_Buffer_detach(&back, &bytes);
}

static void persistent(int ignores) {
  const struct {
    Begins begins;
    const char* name;
  } sends[] = {{MPI_Send_init, "MPI_Send_init"},
               {MPI_Ssend_init, "MPI_Ssend_init"},
               {MPI_Bsend_init, "MPI_Bsend_init"}};
  static char room[1000];
  int value;
  MPI_Request pair[2];
  MPI_Buffer_attach(room, (int)sizeof room);
  for (int i = 0; i < 3; ++i) {
    int done = MPI_Recv_init(&value, 1, MPI_INT, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &pair[0]);
    SAY("MPI_Recv_init", 1, of_rank(MPI_ANY_SOURCE), kTag, of_comm(MPI_COMM_WORLD),
        of_request(pair[0]), done);
    done = sends[i].begins(&g_rank, 1, MPI_INT, g_other, kTag, MPI_COMM_WORLD, &pair[1]);
    SAY(sends[i].name, 1, g_other, kTag, of_comm(MPI_COMM_WORLD), of_request(pair[1]), done);
    const long long before[2] = {of_request(pair[0]), of_request(pair[1])};
    for (int turn = 0; turn < 3; ++turn) {
      done = MPI_Startall(2, pair);
      say_array("MPI_Startall", 2, before, NULL, done);
      wait_for(&pair[1], ignores, kAnything, kAnything);
      wait_for(&pair[0], ignores, g_other, kTag);
      SAY("MPI_Start", before[0], MPI_Start(&pair[0]));
      barrier(MPI_COMM_WORLD);
      SAY("MPI_Start", before[1], MPI_Start(&pair[1]));
      const long long got[4] = {g_other, kTag, kAnything, kAnything};
      MPI_Status own[2];
      done = MPI_Waitall(2, pair, ignores ? MPI_STATUSES_IGNORE : own);
      say_array("MPI_Waitall", 2, before, got, done);
    }
    for (int k = 0; k < 2; ++k) SAY("MPI_Request_free", before[k], MPI_Request_free(&pair[k]));
  }
  char* back;
  int bytes;
  MPI_Buffer_detach(&back, &bytes);
}

/* More than one record has room for. */
static void very_many(int ignores) {
  static int values[kVeryMany];
  static MPI_Request requests[2 * kVeryMany];
  static MPI_Status own[2 * kVeryMany];
  static long long before[2 * kVeryMany], got[4 * kVeryMany];
  for (int i = 0; i < 2 * kVeryMany; ++i) {
    const int receives = i < kVeryMany, tag = i % kVeryMany;
    requests[i] = receives ? receive_request(&values[tag], g_other, tag) : send_request(tag);
    before[i] = of_request(requests[i]);
    got[2 * i] = receives ? g_other : kAnything;
    got[2 * i + 1] = receives ? tag : kAnything;
  }
  const int done = MPI_Waitall(2 * kVeryMany, requests, ignores ? MPI_STATUSES_IGNORE : own);
  for (int i = 0; i < 2 * kVeryMany; i += kPiece) {
    const int count = 2 * kVeryMany - i < kPiece ? 2 * kVeryMany - i : kPiece;
    say_array("MPI_Waitall", count, before + i, got + 2 * i, done);
  }
}

#if MPI_VERSION >= 4
/* MPICH 4.0 and 5.0 say of neither what was received. */
static void both_ways(int ignores) {
  const long long world = of_comm(MPI_COMM_WORLD);
  int value = -1;
  MPI_Request request;
  int done = MPI_Isendrecv(&g_rank, 1, MPI_INT, g_other, kTag + g_rank, &value, 1, MPI_INT,
                           MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  SAY("MPI_Isendrecv", 1, g_other, kTag + g_rank, 1, of_rank(MPI_ANY_SOURCE), of_tag(MPI_ANY_TAG),
      world, of_request(request), done);
  wait_for(&request, ignores, kAnything, kAnything);
  done = MPI_Isendrecv_replace(&value, 1, MPI_INT, g_other, kTag, g_other, kTag, MPI_COMM_WORLD,
                               &request);
  SAY("MPI_Isendrecv_replace", 1, g_other, kTag, g_other, kTag, world, of_request(request), done);
  wait_for(&request, ignores, kAnything, kAnything);
}

static void partitioned(void) {
  enum { kParts = 6 };
  const long long world = of_comm(MPI_COMM_WORLD);
  int sent[kParts] = {0}, received[kParts], flag, done;
  int listed[2] = {0, 5};
  MPI_Request request;
  if (g_rank == 0) {
    done =
        MPI_Psend_init(sent, kParts, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    SAY("MPI_Psend_init", kParts, 1, 1, kTag, world, kAnything, of_request(request), done);
  } else {
    done = MPI_Precv_init(received, kParts, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &request);
    SAY("MPI_Precv_init", kParts, 1, 0, kTag, world, kAnything, of_request(request), done);
  }
  const long long before = of_request(request);
  for (int turn = 0; turn < 2; ++turn) {
    SAY("MPI_Start", before, MPI_Start(&request));
    if (g_rank == 0) {
      SAY("MPI_Pready", 1, before, MPI_Pready(1, request));
      SAY("MPI_Pready_range", 2, 4, before, MPI_Pready_range(2, 4, request));
      SAY("MPI_Pready_list", 2, 2, 0, 5, before, MPI_Pready_list(2, listed, request));
    } else {
      for (flag = 0; !flag;) done = MPI_Parrived(request, 3, &flag);
      SAY("MPI_Parrived", before, 3, done);
    }
    wait_for(&request, 1, kAnything, kAnything);
  }
  SAY("MPI_Request_free", before, MPI_Request_free(&request));
}
#else
static void both_ways(int ignores) {
  (void)ignores;
}
static void partitioned(void) {}
#endif

int main(int argc, char** argv) {
  if (!begin(&argc, &argv)) return 2;
  for (int ignores = 0; ignores < 2; ++ignores) {
    one(ignores);
    all_of_them(ignores);
    one_of_them(ignores);
    some_of_them(ignores);
    modes(ignores);
    persistent(ignores);
    very_many(ignores);
    both_ways(ignores);
    partitioned();
  }
  fclose(g_said);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
