"""Stock keeping."""


def reserve(stock, wanted):
    """Units that can be reserved: as many as are wanted, as far as the stock goes."""
    return max(stock, wanted)


def needs_reorder(stock, threshold):
    """Whether the stock has come down to the threshold."""
    return stock < threshold


def after_day(stock, sold, returned):
    """Stock after a day of sales and returns."""
    return stock - sold + returned
