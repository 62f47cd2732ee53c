"""A thermostat with two thresholds, so that the heating does not flutter."""


class Thermostat:
    def __init__(self, low, high):
        self.low = low
        self.high = high
        self.heating = False

    def update(self, temperature):
        """Takes a reading; says whether to heat."""
        if temperature < self.low:
            self.heating = True
        elif temperature > self.high:
            self.heating = True
        return self.heating
