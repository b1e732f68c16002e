"""Lines for HDF5: by its interfaces in C and Fortran, and by h5py."""

from __future__ import annotations

import os
import re
import shlex

from iotune.findings.finding import Snippet
from iotune.findings.snippets.languages import c, fortran, python
from iotune.findings.snippets.named import Named

_C_TYPES = {"f4": ("IEEE_F32LE", "FLOAT"), "f8": ("IEEE_F64LE", "DOUBLE")} | {
    f"i{size}": (f"STD_I{8 * size}LE", f"INT{8 * size}") for size in (1, 2, 4, 8)
}
_FORTRAN_TYPES = {
    "f4": ("H5T_IEEE_F32LE", "H5T_NATIVE_REAL"),
    "f8": ("H5T_IEEE_F64LE", "H5T_NATIVE_DOUBLE"),
    "i4": ("H5T_STD_I32LE", "H5T_NATIVE_INTEGER"),
}


def chunk_cache(one: Named) -> tuple[Snippet, ...]:
    """A chunk cache of such a size."""
    mode = "r+" if one.writes else "r"
    return (
        c(f"""
hid_t dapl = H5Pcreate(H5P_DATASET_ACCESS);
/* slots: a prime, some 100 for each chunk that fits */
H5Pset_chunk_cache(dapl, {one.slots}, {one.cache_bytes}, 1.0);
hid_t set = H5Dopen2(file, {one.quoted}, dapl);
"""),
        fortran(f"""
call h5pcreate_f(H5P_DATASET_ACCESS_F, dapl, error)
! slots: a prime, some 100 for each chunk that fits
call h5pset_chunk_cache_f(dapl, {one.slots}_SIZE_T, {one.cache_bytes}_SIZE_T, &
    1.0, error)
call h5dopen_f(file, {one.in_fortran}, set, error, dapl)
"""),
        python(f"""
file = h5py.File({one.quoted_file}, "{mode}",
                 rdcc_nbytes={one.cache_bytes}, rdcc_nslots={one.slots})
# netCDF4:  variable.set_var_chunk_cache({one.cache_bytes}, {one.slots}, 0.75)
"""),
    )


def chunk_shape(one: Named) -> tuple[Snippet, ...]:
    """Chunks of the shape in which the dataset is read: for the file that is there, and new ones.

    With the line of h5repack where its list of names can have such a name. Of a dataset that the
    run wrote as well (`writes`) that line alone: written so, each write might touch every chunk.
    """
    stem, ending = os.path.splitext(one.file)
    repack = ""
    if not re.search(r"[:,\s]", one.path):
        shape = "x".join(map(str, one.chunk))
        words = ("h5repack", "-l", f"{one.path}:CHUNK={shape}", one.file, f"{stem}.new{ending}")
        repack = f"the present file: {shlex.join(words)}"
    rank = len(one.chunk)
    fastest_first = ", ".join(map(str, reversed(one.chunk)))
    in_c = f"/* {repack} */\n" if repack and "*/" not in repack else ""
    in_fortran = f"! {repack}\n" if repack else ""
    in_python = f"# {repack}\n" if repack else ""
    if one.writes:
        what = repack or f"the present file: h5repack, with chunks of {one.chunk}"
        return (c(f"/* {what} */\n"), fortran(f"! {what}\n"), python(f"# {what}\n"))
    chunk = ", ".join(map(str, one.chunk))
    return (
        c(f"""{in_c}/* new ones: */
hsize_t chunk[{rank}] = {{{chunk}}};
H5Pset_chunk(dcpl, {rank}, chunk);
"""),
        fortran(f"""{in_fortran}! new ones, the fastest dimension first:
call h5pset_chunk_f(dcpl, {rank}, int([{fastest_first}], HSIZE_T), error)
"""),
        python(f"""{in_python}# new ones:
file.create_dataset({_made(one)}, chunks={one.chunk}{_packed(one)})
"""),
    )


def _made(one: Named) -> str:
    """What h5py makes a dataset by: name, shape and type."""
    kind = f'"{one.kind}{one.file_bytes}"' if one.kind else "dtype=data.dtype"
    return f"{one.quoted}, {one.dims}, {kind}"


def _packed(one: Named) -> str:
    return ', compression="gzip"' if one.packed else ""


def own_chunks(one: Named) -> tuple[Snippet, ...]:
    """Chunks that belong to one rank each. `one.chunk`: what a rank writes together."""
    rank = len(one.chunk)
    chunk = ", ".join(map(str, one.chunk))
    fastest_first = ", ".join(map(str, reversed(one.chunk)))
    return (
        c(f"""
hsize_t chunk[{rank}] = {{{chunk}}};   /* of {one.quoted}: one owner each */
H5Pset_chunk(dcpl, {rank}, chunk);
"""),
        fortran(f"""
! of {one.path}, the fastest dimension first: one owner each
call h5pset_chunk_f(dcpl, {rank}, int([{fastest_first}], HSIZE_T), error)
"""),
    )


def same_type(one: Named) -> tuple[Snippet, ...]:
    """The type of the file as that in memory."""
    kind = f"{one.kind}{one.memory_bytes}" if one.kind else "f4"
    in_file, in_memory = _C_TYPES[kind]
    found = [
        c(f"""
/* the type in memory is the type in the file */
hid_t set = H5Dcreate2(file, {one.quoted}, H5T_{in_file}, space,
                       H5P_DEFAULT, dcpl, H5P_DEFAULT);
H5Dwrite(set, H5T_NATIVE_{in_memory}, memory, part, dxpl, data);
""")
    ]
    if kind in _FORTRAN_TYPES:
        in_file, in_memory = _FORTRAN_TYPES[kind]
        found.append(
            fortran(f"""
! the type in memory is the type in the file
call h5dcreate_f(file, {one.in_fortran}, {in_file}, space, set, error)
call h5dwrite_f(set, {in_memory}, values, dims, error, &
    mem_space_id=memory, file_space_id=part, xfer_prp=dxpl)
""")
        )
    dtype = f'"{kind}"' if one.kind else "data.dtype"
    found.append(
        python(f"""
# the type in memory is the type in the file
file.create_dataset({one.quoted}, data=data, dtype={dtype})
""")
    )
    return tuple(found)


def never_filled(one: Named) -> tuple[Snippet, ...]:
    """No fill values."""
    return (
        c("""
/* only where all is written */
H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER);
"""),
        fortran("""
! only where all is written
call h5pset_fill_time_f(dcpl, H5D_FILL_TIME_NEVER_F, error)
"""),
        python(f"""
# h5py 3.12 and later, only where all is written
file.create_dataset({_made(one)}, chunks=True,
                    fill_time="never")
"""),
    )


def opened_once(one: Named) -> tuple[Snippet, ...]:
    """One open around the loop."""
    return (
        c(f"""
hid_t set = H5Dopen2(file, {one.quoted}, H5P_DEFAULT);    /* before the loop */
for (hsize_t k = 0; k < n; ++k) read_part(set, k);
H5Dclose(set);                                   /* behind it */
"""),
        fortran(f"""
call h5dopen_f(file, {one.in_fortran}, set, error)   ! before the loop
do k = 1, n
  call read_part(set, k)
end do
call h5dclose_f(set, error)                      ! behind it
"""),
        python(f"""
x = file[{one.quoted}]                # once: file[...] in the loop opens it anew
for k in range(n): use(x[k])
"""),
    )


CAUSES = c("""
uint32_t here, anywhere;     /* bits of H5D_mpio_no_collective_cause_t */
H5Pget_mpio_no_collective_cause(dxpl, &here, &anywhere);
""")
JOIN: tuple[Snippet, ...] = (
    c("""
/* one call for the whole part: a hyperslab with stride and block */
H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block);
H5Dwrite(set, type, memory, space, dxpl, data);
"""),
    fortran("""
! one call for the whole part: a hyperslab with stride and block
call h5sselect_hyperslab_f(space, H5S_SELECT_SET_F, start, count, &
    error, stride, block)
call h5dwrite_f(set, H5T_NATIVE_DOUBLE, data, dims, error, &
    mem_space_id=memory, file_space_id=space, xfer_prp=dxpl)
"""),
    python("""
gathered = []           # h5py: gather rows, then write them together
for row in rows:
    gathered.append(row)
    if len(gathered) == 1024:
        x[at:at + 1024] = gathered;  at += 1024;  gathered.clear()
if gathered: x[at:at + len(gathered)] = gathered      # and what is left
"""),
)
ORDER = c("""
/* store what a rank owns side by side, and its places beside it */
H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &own, NULL);
H5Dwrite(values, type, memory, space, dxpl, data);
H5Dwrite(places, H5T_NATIVE_LLONG, memory, space, dxpl, indices);
""")
ONE_DATASET: tuple[Snippet, ...] = (
    c("""
/* one dataset with a dimension more, instead of x0000, x0001, ... */
hsize_t dims[2] = {number, length};
hid_t space = H5Screate_simple(2, dims, NULL);
"""),
    fortran("""
! one dataset with a dimension more, instead of x0000, x0001, ...
call h5screate_simple_f(2, int([length, number], HSIZE_T), space, error)
"""),
    python("""
# h5py: one dataset with a dimension more, instead of x0000, x0001, ...
x = file.create_dataset("x", (number, n), "f8")
for k in range(number): x[k] = parts[k]
"""),
)
ONE_ATTRIBUTE: tuple[Snippet, ...] = (
    c("""
/* one attribute of a compound type or an array, instead of hundreds */
hid_t space = H5Screate_simple(1, &number, NULL);
hid_t all = H5Acreate2(file, "parameters", type, space,
                       H5P_DEFAULT, H5P_DEFAULT);
H5Awrite(all, type, data);
"""),
    python("""
# h5py: one attribute of an array, instead of hundreds
file.attrs["parameters"] = numpy.array(parameters)
"""),
)
ONE_FILE: tuple[Snippet, ...] = (
    c("""
/* one HDF5 file, a record a step: a dataset that grows */
hsize_t size[2] = {steps, n}, chunk[2] = {1, n};
hsize_t most[2] = {H5S_UNLIMITED, n};
hid_t space = H5Screate_simple(2, chunk, most);
H5Pset_chunk(dcpl, 2, chunk);
hid_t set = H5Dcreate2(file, "steps", H5T_NATIVE_DOUBLE, space,
                       H5P_DEFAULT, dcpl, H5P_DEFAULT);
H5Dset_extent(set, size);
"""),
    python("""
# one HDF5 file, a record a step: a dataset that grows
file = h5py.File("all.h5", "w")
all = file.create_dataset("all", (0, n), "f8", maxshape=(None, n),
                          chunks=(1, n))
for k in range(steps): all.resize(k + 1, axis=0);  all[k] = parts[k]
"""),
)
COLLECTIVE: tuple[Snippet, ...] = (
    c("""
hid_t dxpl = H5Pcreate(H5P_DATASET_XFER);
H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE);
H5Dwrite(set, type, memory, part, dxpl, data);   /* on all ranks */
"""),
    fortran("""
call h5pcreate_f(H5P_DATASET_XFER_F, dxpl, error)
call h5pset_dxpl_mpio_f(dxpl, H5FD_MPIO_COLLECTIVE_F, error)
call h5dwrite_f(set, H5T_NATIVE_DOUBLE, data, dims, error, &
    mem_space_id=memory, file_space_id=part, xfer_prp=dxpl)
"""),
)
SPREAD: tuple[Snippet, ...] = (
    c("""
/* HDF5: all ranks read the same selection collectively */
H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE);
H5Dread(set, type, memory, part, dxpl, table);
"""),
    fortran("""
! HDF5: all ranks read the same selection collectively
call h5pset_dxpl_mpio_f(dxpl, H5FD_MPIO_COLLECTIVE_F, error)
call h5dread_f(set, H5T_NATIVE_DOUBLE, data, dims, error, &
    mem_space_id=memory, file_space_id=part, xfer_prp=dxpl)
"""),
)
DIVIDE: tuple[Snippet, ...] = (
    c("""
H5Pset_fapl_mpio(fapl, MPI_COMM_WORLD, info);   /* all ranks open it */
/* the part of this rank */
H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE);
H5Dwrite(set, type, memory, space, dxpl, data);
"""),
    fortran("""
call h5pset_fapl_mpio_f(fapl, MPI_COMM_WORLD, info, error)   ! all ranks
! the part of this rank
call h5sselect_hyperslab_f(space, H5S_SELECT_SET_F, start, count, error)
call h5pset_dxpl_mpio_f(dxpl, H5FD_MPIO_COLLECTIVE_F, error)
call h5dwrite_f(set, H5T_NATIVE_DOUBLE, data, dims, error, &
    mem_space_id=memory, file_space_id=space, xfer_prp=dxpl)
"""),
)
ALIGNED: tuple[Snippet, ...] = (
    c("""
/* HDF5: objects of 1 MiB and more begin at a border of the stripe */
H5Pset_alignment(fapl, 1 << 20, 1 << 20);
/* POSIX, MPI-IO: begin each rank's part at a multiple of it */
MPI_Offset part = (bytes + (1 << 20) - 1) / (1 << 20) * (1 << 20);
"""),
    fortran("""
! HDF5: objects of 1 MiB and more begin at a border of the stripe
call h5pset_alignment_f(fapl, 1048576_HSIZE_T, 1048576_HSIZE_T, error)
"""),
    python("""
# h5py: objects of 1 MiB and more begin at a border of the stripe
file = h5py.File("new.h5", "w", alignment_threshold=1 << 20,
                 alignment_interval=1 << 20)
"""),
)
TOGETHER: tuple[Snippet, ...] = (
    c("""
H5Pset_all_coll_metadata_ops(fapl, 1);   /* one rank reads for all */
H5Pset_coll_metadata_write(fapl, 1);
hid_t file = H5Fopen(name, H5F_ACC_RDWR, fapl);
"""),
    fortran("""
call h5pset_all_coll_metadata_ops_f(fapl, .true., error)   ! one for all
call h5pset_coll_metadata_write_f(fapl, .true., error)
call h5fopen_f(name, H5F_ACC_RDWR_F, file, error, fapl)
"""),
)
