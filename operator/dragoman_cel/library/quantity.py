"""Kubernetes' quantities in expressions."""

from dragoman_cel.state import Functions, paced
from dragoman_cel.values.quantity import Quantity
from dragoman_cel.values.quantityparser import is_quantity, parse_quantity

OVERLOADS: Functions = {
    "quantity_is_greater_than": lambda left, right: left.compare(right) > 0,
    "quantity_is_less_than": lambda left, right: left.compare(right) < 0,
    "quantity_compare_to": Quantity.compare,
    "quantity_sign": Quantity.sign,
    "quantity_is_integer": Quantity.is_integer,
    "quantity_get_int": Quantity.as_integer,
    "quantity_is_integer@1.38": lambda quantity: quantity.settled().is_integer(),
    "quantity_get_int@1.38": lambda quantity: quantity.settled().as_integer(),
}
STATEFUL: Functions = {
    **paced(32, {"string_to_quantity": parse_quantity, "is_quantity_string": is_quantity}, call=4),
    **paced(
        32,
        {
            "quantity_add": Quantity.add,
            "quantity_add_int": Quantity.add,
            "quantity_sub": Quantity.sub,
            "quantity_sub_int": Quantity.sub,
            "quantity_get_float": Quantity.as_approximate_float,
        },
        call=8,
    ),
}
