"""Calendar rules."""


def is_leap(year):
    """Every fourth year is a leap year; of the full centuries, every fourth one."""
    by_four = not year % 4
    by_century = not year % 100
    by_era = not year % 400
    return by_four and not by_century and by_era
