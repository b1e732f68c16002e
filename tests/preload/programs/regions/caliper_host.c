/* Loads a plug-in that brings a Caliper of its own, which nobody else can see. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  void* const plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 3;
  }
  int (*run)(int, char**) = NULL;
  *(void**)&run = dlsym(plugin, "plugin_main");
  return run != NULL ? run(argc, argv) : 4;
}
