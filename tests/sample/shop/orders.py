"""Orders: what a customer wants, and what it costs."""

from dataclasses import dataclass

from .palette import find_colour


@dataclass
class Order:
    """One tin of paint."""

    customer: str
    colour: str
    litres: float

    def price(self, config):
        """The price in the shop's currency, rounded to cents. White is free of pigment and cheaper."""
        # TODO: a discount for more than 20 litres.
        factor = 0.8 if find_colour(self.colour, config) == "#ffffff" else 1.0
        return round(self.litres * config["price_per_litre"] * factor, 2)


def parse(fields, config):
    """Makes an order from the fields of the page. Raises ValueError for an empty tin."""
    litres = float(fields.get("litres", 1))
    if litres <= 0:
        raise ValueError("an order needs more than 0 litres")
    colour = fields.get("colour") or config["default_colour"]
    find_colour(colour, config)
    return Order(fields.get("customer", "somebody"), colour, litres)
