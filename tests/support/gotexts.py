"""Texts as Go writes them."""

from dragoman_cel.values.durations import SECOND, Duration


def go_duration(duration: Duration) -> str:
    """Write a duration as Go's `String()`, such as `1h2m3.5s`."""
    sign, rest = ("-" if duration.nanos < 0 else ""), abs(duration.nanos)
    if rest < SECOND:
        return sign + _below_second(rest)
    minutes, below = divmod(rest, 60 * SECOND)
    seconds = _trimmed(below, 9) + "s"
    if minutes < 60:
        return f"{sign}{minutes}m{seconds}" if minutes else sign + seconds
    return f"{sign}{minutes // 60}h{minutes % 60}m{seconds}"


def _below_second(nanos: int) -> str:
    if nanos == 0:
        return "0s"
    if nanos < 1_000:
        return f"{nanos}ns"
    if nanos < 1_000_000:
        return _trimmed(nanos, 3) + "\u00b5s"
    return _trimmed(nanos, 6) + "ms"


def _trimmed(number: int, decimals: int) -> str:
    whole, rest = divmod(number, 10**decimals)
    return f"{whole}.{rest:0{decimals}d}".rstrip("0").rstrip(".")
