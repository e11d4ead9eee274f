"""The paint shop: palette, orders and server."""
