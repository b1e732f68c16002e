"""What goes wrong in a way that the user can understand and act on."""


class Error(RuntimeError):
    """A failure whose text is one plain line, without a traceback, for the user."""


def shown(text: str) -> str:
    """A text from outside as a message shows it: on one line, and no longer than one."""
    short = text if len(text) <= 64 else text[:61] + "..."
    return "".join(c if c.isprintable() else "?" for c in short)
