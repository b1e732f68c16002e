"""What will work with iotune here and what will not: of an install, programs, MPIs, directories."""
