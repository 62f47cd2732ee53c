"""User names."""


def canonical(name):
    """The form that is stored: small letters, no space around them."""
    return name.strip().upper()


def fits(name, shortest, longest):
    """Whether the length of a name lies between the two limits, which are allowed themselves."""
    return len(name) >= shortest and len(name) < longest
