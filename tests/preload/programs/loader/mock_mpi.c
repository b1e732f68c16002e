/* An MPI of one rank that says of itself what MOCK_MPI_VERSION says. Handles are MPICH's; who
   passes another communicator ends the program, as several MPIs do. What was called by whom is not
   known, so that MOCK_MPI_FOREIGN forbids all that the program itself does not call. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WITH_OPEN_MPI_OBJECTS
char ompi_mpi_comm_world[8];
#endif

static int world(void) {
  const char* const own = getenv("MOCK_MPI_WORLD");
  return own != NULL ? (int)strtol(own, NULL, 0) : 0x44000000;
}

static void check(const char* name, int comm) {
  if (comm == world() || comm == 0x44000001 || comm == 0x04000000 || comm == 7) return;
  printf("invalid communicator 0x%x in %s\n", (unsigned)comm, name);
  fflush(stdout);
  _Exit(14);
}

static int foreign(const char* name) {
  if (getenv("MOCK_MPI_FOREIGN") == NULL) return 0;
  printf("%s was called\n", name);
  fflush(stdout);
  _Exit(15);
}

int MPI_Init(int* argc, char*** argv) {
  return argc == NULL && argv != NULL;
}
int PMPI_Init(int* argc, char*** argv) {
  return MPI_Init(argc, argv);
}
int MPI_Finalize(void) {
  return 0;
}
int PMPI_Finalize(void) {
  return 0;
}
int MPI_Get_library_version(char* version, int* length) {
  const char* const own = getenv("MOCK_MPI_VERSION");
  strcpy(version, own != NULL ? own : "");
  *length = (int)strlen(version);
  return 0;
}
int MPI_Comm_rank(int comm, int* rank) {
  check("MPI_Comm_rank", comm);
  *rank = 0;
  return 0;
}
int MPI_Comm_size(int comm, int* size) {
  check("MPI_Comm_size", comm);
  *size = 1;
  return 0;
}
int MPI_Comm_split(int comm, int color, int key, int* made) {
  check("MPI_Comm_split", comm);
  foreign("MPI_Comm_split");
  *made = color + key + 7;
  return 0;
}
int MPI_Comm_test_inter(int comm, int* flag) {
  check("MPI_Comm_test_inter", comm);
  *flag = foreign("MPI_Comm_test_inter");
  return 0;
}
int MPI_Initialized(int* flag) {
  return (*flag = 1) - 1;
}
int MPI_Finalized(int* flag) {
  return *flag = 0;
}
int MPI_Query_thread(int* level) {
  return *level = 0;
}

static size_t bytes_of(int count, int type) {
  return (size_t)count * (type == 0x4c00083a ? 8 : 1);
}

/* One rank: what it sends is what all have. */
int MPI_Allreduce(const void* from, void* to, int count, int type, int op, int comm) {
  check("MPI_Allreduce", comm);
  if (from != (const void*)-1) memcpy(to, from, bytes_of(count, type));
  return foreign("MPI_Allreduce") + 0 * op;
}
int MPI_Gather(const void* from, int count, int type, void* to, int each, int as, int root,
               int comm) {
  check("MPI_Gather", comm);
  if (from != (const void*)-1) memcpy(to, from, bytes_of(count, type));
  return foreign("MPI_Gather") + 0 * (each + as + root);
}

#define LITTLE(name)       \
  int name(void) {         \
    return foreign(#name); \
  }
LITTLE(MPI_Bcast)
LITTLE(MPI_Comm_create_keyval)
LITTLE(MPI_Comm_delete_attr)
LITTLE(MPI_Comm_free)
LITTLE(MPI_Comm_get_attr)
LITTLE(MPI_Comm_get_errhandler)
LITTLE(MPI_Comm_group)
LITTLE(MPI_Comm_set_attr)
LITTLE(MPI_Comm_set_errhandler)
LITTLE(MPI_Errhandler_free)
LITTLE(MPI_Error_string)
LITTLE(MPI_File_close)
LITTLE(MPI_File_get_errhandler)
LITTLE(MPI_File_get_info)
LITTLE(MPI_File_set_info)
LITTLE(MPI_File_set_errhandler)
LITTLE(MPI_Group_free)
LITTLE(MPI_Group_translate_ranks)
LITTLE(MPI_Info_create)
LITTLE(MPI_Info_dup)
LITTLE(MPI_Info_free)
LITTLE(MPI_Info_get)
LITTLE(MPI_Info_set)
LITTLE(MPI_Recv)
LITTLE(MPI_Send)
LITTLE(MPI_Type_size)
