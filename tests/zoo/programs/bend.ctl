; A bent waveguide; the field of each moment goes into an HDF5 file of its own.
(set! geometry-lattice (make lattice (size 16 16 no-size)))
(set! geometry
  (list
    (make block (center -2 -3.5) (size 12 1 infinity) (material (make medium (epsilon 12))))
    (make block (center 3.5 2) (size 1 12 infinity) (material (make medium (epsilon 12))))))
(set! pml-layers (list (make pml (thickness 1.0))))
(set! resolution 6)
(set! sources
  (list
    (make source (src (make continuous-src (frequency 0.15) (width 20)))
      (component Ez) (center -7 -3.5) (size 0 1))))
(run-until 16
  (at-beginning output-epsilon)
  (at-every 1 output-efield-z)
  (to-appended "ez" (at-every 2 output-efield-z)))
