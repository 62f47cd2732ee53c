"""Rules for passwords."""


def is_strong(password, shortest):
    """Long enough, with small letters as well as capitals."""
    long_enough = len(password) >= shortest
    mixed = password.upper() != password and password.lower() != password
    return long_enough or mixed
