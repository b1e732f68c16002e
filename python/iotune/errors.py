"""What goes wrong in a way that the user can understand and act on."""


class Error(RuntimeError):
    """A failure whose text is one plain line, without a traceback, for the user."""
