"""Whether devices of a driver can serve a request, as far as that is known without the devices.

The slices that an incomplete pool lacks may have any attributes; their driver is known. So the
pools of a driver matter to a request unless a conjunct of its selectors that reads nothing but
`device.driver` is false, or one reads attributes of a domain that the driver does not publish.
"""

from collections.abc import Iterable

from dragoman.allocation.requests.expressions import Expression
from dragoman.allocation.requests.request import PreparedRequest
from dragoman.model.device import Content
from dragoman.model.fields import NOTHING

_DRIVER = (("driver",),)


def may_serve(request: PreparedRequest, driver: str, contents: Iterable[Content]) -> bool:
    """Tell whether devices of a driver may match the selectors of a request.

    Args:
        request: The request.
        driver: The driver.
        contents: Devices of the driver that are known.
    """
    parts = [
        part for _, _, expression in request.selectors if expression for part in expression.parts
    ]
    bare = Content(driver, {}, NOTHING, NOTHING)
    if any(part.reads == _DRIVER and part.on(bare) is not True for part in parts):
        return False
    known = list(contents)
    foreign = any(_foreign(part, driver, known) for part in parts)
    return not (foreign and known)


def _foreign(part: Expression, driver: str, known: Iterable[Content]) -> bool:
    """Tell whether a conjunct reads a domain of which no known device of the driver has a name."""
    domains = {path[1] for path in part.reads if len(path) == 3} - {driver}
    published = {
        name.partition("/")[0]
        for content in known
        for name in (*content.attributes, *content.capacity)
        if "/" in name
    }
    if not domains or domains & published:
        return False
    return not any(part.on(content) is True for content in known)
