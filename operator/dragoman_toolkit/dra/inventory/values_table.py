"""Table and document of `kubectl dra top --by ATTRIBUTE`."""

from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman_base.words import listed
from dragoman_base.words.nearnames import did_you_mean
from dragoman_toolkit import attributevalues
from dragoman_toolkit.attributevalues import ValueRow
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.missing import missing
from dragoman_toolkit.dra.output import Cell, Report, Table

_NEEDS = ("resourceslices", "resourceclaims", "devicetaintrules", "pods", "deviceclasses")


def report(source: Source, attribute: str) -> Report:
    """Read devices and count them by value; raise Unusable where no device has the attribute."""
    world = parse(source.read(_NEEDS))
    inventory = take(world, source.profile(world))
    drivers, found = attributevalues.rows(inventory, attribute)
    if not drivers:
        known = attributevalues.attributes(inventory)
        hint = did_you_mean(attribute, known) or f"; there are {listed(known, 10) or 'none'}"
        raise missing(world, f"no device has attribute {attribute}{hint}", "resourceslices")
    headers = ("NODE", "VALUE", *(one.upper() for one in drivers), "PAIRS")
    document = {
        **notes.header(world),
        "attribute": attribute,
        "rows": [
            {
                "node": row.node,
                "value": row.value,
                "drivers": {
                    name: {"free": share.free, "all": share.all}
                    for name, share in row.drivers.items()
                },
                "pairs": row.pairs,
            }
            for row in found
        ],
    }
    return Report(
        "TopValues",
        document,
        (Table(headers, tuple(_line(row, drivers) for row in found)),),
        notes.status(world),
        (*notes.broken_pools(inventory), *notes.common(world)),
    )


def _line(row: ValueRow, drivers: tuple[str, ...]) -> tuple[str | Cell, ...]:
    lacks = row.value is None
    return (
        "-" if lacks else row.node or "(several)",
        "(no such attribute)" if row.value is None else row.value,
        *(f"{row.drivers[one].free}/{row.drivers[one].all}" for one in drivers),
        "-" if lacks else Cell(str(row.pairs), "green" if row.pairs else ""),
    )
