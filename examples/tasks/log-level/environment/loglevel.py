"""Filters log lines by level."""

LEVELS = ["debug", "info", "warning", "error"]


def at_least(lines, level):
    """Lines of the given level and of graver ones; the case of level names does not matter."""
    wanted = LEVELS.index(level.lower())
    kept = []
    for line in lines:
        name, _, _ = line.partition(":")
        if name.lower() in LEVELS and LEVELS.index(name.lower()) > wanted:
            kept.append(line)
    return kept
