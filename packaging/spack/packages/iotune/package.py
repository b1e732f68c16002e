# Spack: `spack repo add packaging/spack` in a checkout, then `spack install iotune`.
# docs/howto/install.md says what of this has been tried.
from spack.package import *


class Iotune(PythonPackage):
    """Watches an unmodified MPI or HDF5 program, recognises its I/O as patterns, and runs it with
    settings measured to be good for them."""

    # There is no release archive yet: the checkout that holds this recipe, by
    # `spack develop --path CHECKOUT iotune@=0.1.0`, or a clone of yours named here.
    git = "file:///path/to/iotune"

    maintainers()
    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("fuse", default=False, description="Build the file system of `iotune fuse`")
    variant("models", default=False, description="What surveys, predictions and latency need")
    variant("replayer", default=False, description="Prebuild what `iotune train` starts under MPI")
    variant("report", default=True, description="What `iotune report` needs")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("py-scikit-build-core@0.10:", type="build")
    depends_on("py-pybind11@2.12:", type="build")
    depends_on("nlohmann-json@3.10:", type="build")
    # Spack builds these shared; the libraries then refer to them by RPATH (IOTUNE_STATIC_ARCHIVES
    # finds no archive, and says so).
    depends_on("sqlite@3.35:")
    depends_on("libxml2")
    depends_on("libfuse@3.12:", when="+fuse")
    depends_on("py-typer@0.9:", type="run")
    depends_on("py-rich@13:", type="run")
    depends_on("py-numpy", type="run")
    depends_on("py-pyelftools@0.29:", type="run")
    depends_on("py-jinja2", when="+report", type="run")
    with when("+models"):
        depends_on("py-pandas", type="run")
        depends_on("py-pyarrow", type="run")
        depends_on("py-scipy@1.9:", type="run")
        depends_on("py-matplotlib", type="run")
        depends_on("py-optuna", type="run")
        depends_on("py-scikit-learn@1.2:", type="run")

    with when("+replayer"):
        depends_on("mpi")
        depends_on("hdf5+mpi+shared")

    conflicts("platform=darwin", msg="iotune is for Linux with glibc")
    conflicts("%gcc@:10", msg="iotune is written in C++20")

    def setup_run_environment(self, env):
        # The preload itself is not set: a program is started by `iotune run`, or with
        # LD_PRELOAD=$(iotune lib).
        env.set("IOTUNE_HOME", self.prefix)
        if self.spec.satisfies("+replayer"):
            env.set("IOTUNE_REPLAYER_DIR", self.prefix.share.iotune.replayers)

    @run_after("install")
    def check_install(self):
        Executable(self.prefix.bin.iotune)("lib")

    @run_after("install", when="+replayer")
    def build_replayer(self):
        # Other MPIs are added by hand: iotune replayer build --into $IOTUNE_REPLAYER_DIR
        Executable(self.prefix.bin.iotune)(
            "replayer",
            "build",
            "--into",
            self.prefix.share.iotune.replayers,
            "--mpicc",
            self.spec["mpi"].mpicc,
            "--hdf5",
            self.spec["hdf5"].prefix,
        )
