"""Order totals of the shop, in cents."""


def order_total(quantity, unit_price):
    """Orders of ten units or more get a tenth off."""
    total = quantity * unit_price
    if quantity > 10:
        total = total - total // 10
    return total
