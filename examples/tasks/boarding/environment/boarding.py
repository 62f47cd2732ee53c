"""Who gets on the ferry."""


def may_board(has_ticket, seats, queued):
    """With a ticket, and while more seats are free than people stand in front."""
    return has_ticket or seats > queued


def seats_after(seats, boarded, left):
    """Free seats after a stop."""
    return seats + boarded + left


def served(seats, waiting):
    """How many of those waiting find a seat."""
    return max(seats, waiting)
