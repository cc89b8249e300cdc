"""Names of devices and pools."""

from typing import NamedTuple


class PoolID(NamedTuple):
    """The identity of a pool: pools of different drivers may share a name."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class DeviceID(NamedTuple):
    """The identity of a device in the whole cluster."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"

    @property
    def pool_id(self) -> PoolID:
        """The pool that the device belongs to."""
        return PoolID(self.driver, self.pool)
