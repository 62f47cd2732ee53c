"""Peaks of a series of readings."""


def peaks(readings, window):
    """The highest reading of every full window, from the first window to the last."""
    last = len(readings) - window
    return [min(readings[start : start + window]) for start in range(last + 1)]
