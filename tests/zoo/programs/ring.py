"""A ring resonator; its permittivity and a field as HDF5 files."""

import meep

cell = meep.Vector3(12, 12)
ring = [
    meep.Cylinder(radius=3, material=meep.Medium(index=3.4)),
    meep.Cylinder(radius=2, material=meep.air),
]
source = meep.Source(meep.GaussianSource(0.15, fwidth=0.1), component=meep.Ez,
                     center=meep.Vector3(2.5))  # fmt: skip
simulation = meep.Simulation(cell_size=cell, geometry=ring, sources=[source], resolution=8,
                             boundary_layers=[meep.PML(1)], force_complex_fields=True)  # fmt: skip
simulation.use_output_directory("out")
simulation.run(
    meep.at_beginning(meep.output_epsilon),
    meep.at_every(1, meep.output_efield_z),
    meep.to_appended("hz", meep.at_every(0.5, meep.output_hfield)),
    until=8,
)
simulation.dump_structure("structure.h5")
