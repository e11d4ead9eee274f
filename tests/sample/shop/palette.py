"""The colours that the shop mixes, by name or by hex value."""

import json
from pathlib import Path

CONFIG = Path(__file__).parent.parent / "config.json"


def load(path=CONFIG):
    """Returns the configuration of the shop."""
    return json.loads(path.read_text(encoding="utf-8"))


def find_colour(name, config):
    """Returns the hex value of a named colour, or the value itself if it is one."""
    if name in config["colours"]:
        return config["colours"][name]
    if len(name) == 7 and name.startswith("#"):
        return name.lower()
    known = ", ".join(sorted(config["colours"]))
    raise KeyError(f"no colour called {name!r}; there are: {known}")


def channels(value):
    """Splits a hex value into red, green and blue, each 0 to 255."""
    return tuple(int(value[start : start + 2], 16) for start in (1, 3, 5))
