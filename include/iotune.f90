! Regions of a Fortran program (docs/howto/mark-regions.md). Compile this file with the program:
! it links nothing (-ldl where glibc is older than 2.34), and without iotune its calls do nothing.
module iotune
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: iotune_region_begin, iotune_region_end, iotune_no_value

  ! The value of a region that has none.
  integer(c_long_long), parameter :: iotune_no_value = -huge(1_c_long_long) - 1_c_long_long

  abstract interface
    function enter_function(name, value) bind(C) result(code)
      import :: c_char, c_int, c_long_long
      character(kind=c_char), intent(in) :: name(*)
      integer(c_long_long), value :: value
      integer(c_int) :: code
    end function
    function leave_function(name) bind(C) result(code)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: code
    end function
  end interface

  interface
    function c_dlsym(handle, name) bind(C, name="dlsym") result(address)
      import :: c_char, c_funptr, c_ptr
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: address
    end function
  end interface

contains

  ! Begins a region of this thread. `value` tells this entry from others: the number of a step.
  subroutine iotune_region_begin(name, value)
    character(len=*), intent(in) :: name
    integer, intent(in), optional :: value
    procedure(enter_function), pointer :: enter
    type(c_funptr) :: address
    integer(c_long_long) :: given
    integer(c_int) :: code
    address = c_dlsym(c_null_ptr, "iotune_region_enter" // c_null_char)
    if (.not. c_associated(address)) return
    call c_f_procpointer(address, enter)
    given = iotune_no_value
    if (present(value)) given = int(value, c_long_long)
    code = enter(trim(name) // c_null_char, given)
  end subroutine

  ! Ends the innermost region of that name, and those inside of it.
  subroutine iotune_region_end(name)
    character(len=*), intent(in) :: name
    procedure(leave_function), pointer :: leave
    type(c_funptr) :: address
    integer(c_int) :: code
    address = c_dlsym(c_null_ptr, "iotune_region_leave" // c_null_char)
    if (.not. c_associated(address)) return
    call c_f_procpointer(address, leave)
    code = leave(trim(name) // c_null_char)
  end subroutine

end module iotune
