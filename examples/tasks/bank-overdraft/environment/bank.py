"""Bank accounts, in whole cents."""


class Account:
    def __init__(self, balance, overdraft):
        self.balance = balance
        self.overdraft = overdraft

    def withdraw(self, amount):
        """Takes the amount unless that goes beyond the overdraft; says whether it did."""
        if amount > self.balance - self.overdraft:
            return False
        self.balance = self.balance - amount
        return True
