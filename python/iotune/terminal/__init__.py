"""What a terminal has around the commands: completion and manual pages."""
