"""Splits a bill among friends, in cents."""


def shares(total, people):
    """Shares that add up to the total; the odd cents are paid by the first ones."""
    base = total // people
    odd = total - base * people
    return [base + 1 if person <= odd else base for person in range(people)]
