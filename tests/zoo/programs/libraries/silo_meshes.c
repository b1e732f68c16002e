/* Meshes by Silo on both of its drivers, read back from the same file. */
#include <silo.h>
#include <stdio.h>

enum { SIDE = 60 };

static double part_of(const char* name, int driver) {
  static double x[SIDE], y[SIDE], values[SIDE * SIDE];
  int dims[] = {SIDE, SIDE};
  double* coordinates[] = {x, y};
  for (int i = 0; i < SIDE; ++i) x[i] = y[i] = i;
  for (int i = 0; i < SIDE * SIDE; ++i) values[i] = i;
  DBfile* file = DBCreate(name, DB_CLOBBER, DB_LOCAL, "zoo", driver);
  for (int block = 0; block < 8; ++block) {
    char folder[32];
    snprintf(folder, sizeof folder, "block%d", block);
    DBMkDir(file, folder);
    DBSetDir(file, folder);
    DBPutQuadmesh(file, "mesh", NULL, coordinates, dims, 2, DB_DOUBLE, DB_COLLINEAR, NULL);
    DBPutQuadvar1(file, "v", "mesh", values, dims, 2, NULL, 0, DB_DOUBLE, DB_NODECENT, NULL);
    DBSetDir(file, "/");
  }
  DBClose(file);
  file = DBOpen(name, DB_UNKNOWN, DB_READ);
  DBquadvar* var = DBGetQuadvar(file, "block5/v");
  double sum = 0;
  for (int i = 0; i < SIDE * SIDE; ++i) sum += ((double*)var->vals[0])[i];
  DBFreeQuadvar(var);
  DBClose(file);
  return sum;
}

int main(void) {
  printf("%.0f\n", part_of("h5.silo", DB_HDF5));
  printf("%.0f\n", part_of("pdb.silo", DB_PDB));
  return 0;
}
