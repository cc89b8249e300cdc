"""`python -m tests.demo.record`: play the first steps and record them as docs/demo.svg."""

import io
import re
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from tests.demo import startup
from tests.demo.interruption import Interruption
from tests.demo.screen import Screen, Style, styled
from tests.demo.steps import STEPS
from tests.support.controlplane import binaries

PICTURE = Path(__file__).parents[2] / "docs/demo.svg"
COLUMNS = 112
SHOWN = (0, 2, 4)
"""Places of the recorded steps: the refusal, the claims, explain. The others are only played."""


def main() -> None:
    """Play the steps up to the last recorded one."""
    quiet = Screen(Console(file=io.StringIO(), width=COLUMNS))
    console = Console(
        record=True, file=io.StringIO(), width=COLUMNS, highlight=False, markup=False, emoji=False
    )
    recorded, version = Screen(console), binaries.chosen_version()
    with startup.session(quiet, version, Interruption(), real=False) as session:
        for place, step in enumerate(STEPS[: max(SHOWN) + 1]):
            session.screen = recorded if place in SHOWN else quiet
            session.screen.say("", styled((f"{place + 1}  {step.title}", Style.STRONG)))
            step.play(session)
            session.end_step()
    # The default format loads a font from another host.
    plain = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    console.save_svg(str(PICTURE), title="make demo", code_format=plain, unique_id="demo")


if __name__ == "__main__":
    main()
