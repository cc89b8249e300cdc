"""Which devices a DeviceClass selects."""

from dataclasses import dataclass, field

from dragoman.allocation.features import Profile
from dragoman.allocation.requests.expressions import Expression, Failure, Views
from dragoman.model.device import Content
from dragoman.model.deviceclass import DeviceClass
from dragoman.model.deviceid import DeviceID


@dataclass(slots=True)
class Classes:
    """Evaluates the selectors of DeviceClasses, each once for devices that look alike.

    Attributes:
        profile: The CEL environment.
        failures: Class name to the first selector failure that was met, as text.
    """

    profile: Profile
    failures: dict[str, str] = field(default_factory=dict)
    _views: Views = field(init=False)
    _compiled: dict[str, Expression] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._views = Views(self.profile)

    def selects(self, device_class: DeviceClass, device: DeviceID, content: Content) -> bool:
        """Tell whether a class selects a device; a selector that fails selects nothing."""
        for index, text in enumerate(device_class.selectors):
            if text is None:
                return False
            answer = self._expression(text).on(content)
            if isinstance(answer, Failure):
                where = "" if answer.compiling else f" on device {device}"
                message = f"selectors[{index}]{where}: {answer.message}"
                self.failures.setdefault(device_class.name, message)
                return False
            if not answer:
                return False
        return True

    def _expression(self, text: str) -> Expression:
        found = self._compiled.get(text)
        if found is None:
            found = self._compiled[text] = Expression(text, self.profile, self._views)
        return found
