"""What tests of the installed package share."""
