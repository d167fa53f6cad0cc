"""What a user can do wrong, and what an environment can do to a user.

Every message is one sentence that names the cause and the fix. The command line prints it without a
traceback; the library raises it.
"""


class SirlError(Exception):
    """A mistake in the input: the message names the field, the value and the fix."""

    def __str__(self) -> str:
        return _sentence(super().__str__())


class EnvironmentFailure(SirlError):  # noqa: N818 - it is the environment that failed
    """An environment raised, gave a number that is none, or never ended.

    Args:
        message: one sentence that names the cause and the fix.
        details: the traceback inside the environment, if there is one, for the log.
        where: the label of the work in which it happened, if it has one.
    """

    alone = False
    """``where`` is one individual and nobody else, so that the sentence names it."""

    def __init__(self, message: str, details: str = "", where: str = ""):
        super().__init__(message, details, where)
        self.message = message
        self.details = details
        self.where = where

    def __str__(self) -> str:
        return _sentence(f"{self.where}: {self.message}" if self.alone else self.message)


class WorkFailure(EnvironmentFailure):
    """An environment hung, or ended the process that it ran in: all that is known is which work it was at.

    Args:
        message: the rest of a sentence that begins with the work.
        details: where its code was, if that is known.
        where: the label of the work.
    """

    env = ""
    """Of which environment the work was, once somebody knows."""

    def __str__(self) -> str:
        return _sentence(f"{self.where} of {self.env} {self.message}" if self.env else f"{self.where} {self.message}")


class WriteFailure(SirlError):  # noqa: N818 - it is the disk that failed
    """A file of a run could not be written; what was written before is kept."""


class InUseError(SirlError):
    """Another process is at work in a run directory: nothing failed, and nothing is to be done."""


def _sentence(text: str) -> str:
    return printable(text if text.endswith((".", "?", "!")) else f"{text}.")


def printable(text: str) -> str:
    """Text for a terminal: a control character, which a stranger's file may have smuggled in, shows as its code."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def in_words(error: BaseException) -> str:
    """An exception's type and the first line of its text, such as ``ValueError: bad gear``; some have no text."""
    try:
        text = str(error).partition("\n")[0]
    except Exception:  # other people's exceptions may fail even at that
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def did_you_mean(name: str, known: list[str]) -> str:
    """A hint such as ``; did you mean 'population'?``, or nothing if no known name is near."""
    import difflib

    # A stranger's file may have thousands of names, each as long as it likes, and difflib takes its time.
    alike = [other for other in known if abs(len(other) - len(name)) <= 10 and len(name) <= 60][:1000]
    near = difflib.get_close_matches(name, alike, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""
