"""Opening hours, in full hours of the day."""


def is_open(hour, opens, closes):
    """Open from `opens` until `closes`, which may lie after midnight."""
    if opens <= closes:
        return opens <= hour and hour < closes
    return hour >= opens and hour < closes
