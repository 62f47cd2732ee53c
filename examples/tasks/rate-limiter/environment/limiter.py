"""A sliding-window rate limiter."""


class Limiter:
    """Lets `limit` calls through in any `window` seconds."""

    def __init__(self, limit, window):
        self.limit = limit
        self.window = window
        self.calls = []

    def allow(self, now):
        self.calls = [at for at in self.calls if now - at < self.window]
        if len(self.calls) <= self.limit:
            self.calls.append(now)
            return True
        return False
