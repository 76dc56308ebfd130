"""What a reply may say besides a label."""

AMBIGUOUS = "ambiguous"
REFUSED = "refused"
UNPARSEABLE = "unparseable"

#: The index of a label, or one of the above.
Reading = int | str
