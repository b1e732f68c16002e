! Around lines of Fortran that need no library: test_snippets.py compiles it with each of them.
program around
  implicit none
  integer :: unit, step
  integer, parameter :: number = 3001, steps = 3001
  double precision :: records(500, number)
  character(:), allocatable :: name
  allocate (character(256) :: name)
  call get_command_argument(1, name)
  name = trim(name)
  records = 7
  open(newunit=unit, file=name, access="stream", form="unformatted")
  write(unit) records
  close(unit)
  step = steps
#include "snippet.inc"
  if (any(records /= 7)) stop 1
end program
