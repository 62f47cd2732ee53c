"""Fines of the library, in cents."""


def fine(days, grace, rate, cap):
    """Free within the days of grace; then the rate for each day after them, up to the cap."""
    if days <= grace:
        return 0
    return min(cap, (days + grace) * rate)
