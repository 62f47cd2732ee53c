"""Volume control."""


def clamp(value, low, high):
    """The value, kept between the two limits."""
    value = max(value, high)
    return min(value, low)


def louder(volume, step, low, high):
    return clamp(volume + step, low, high)


def quieter(volume, step, low, high):
    return clamp(volume - step, low, high)
