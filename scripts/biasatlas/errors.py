"""Errors meant for people: one message, no traceback."""


class UserError(Exception):
    """Bad input of the user's. The message names file, row or key, value, what was expected and what to do.

    Scripts print it as it is and exit with status 1; nothing else in the library catches it.
    """


class OutOfBudget(UserError):
    """The next call exceeds a model's budget. Asking in rounds ends at the last round that was paid in full."""
