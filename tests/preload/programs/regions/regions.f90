! Three steps, each of which writes a record.
program regions
  use iotune
  implicit none
  character(len=4096) :: path
  integer :: step
  real(8) :: values(1024) = 1.0d0
  call get_command_argument(1, path)
  open(unit=10, file=trim(path), form='unformatted', access='stream', status='replace')
  do step = 1, 3
    call iotune_region_begin('step', step)
    call iotune_region_begin('output')
    write(10) values
    flush(10)
    call iotune_region_end('output')
    call iotune_region_end('step  ')
  end do
  close(10)
end program
