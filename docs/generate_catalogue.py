"""Write docs/catalogue.md from the objects in crds/catalogue."""

from pathlib import Path

from dragoman.configs.catalogue import page
from dragoman.runtime.catalogue import schemas

Path(__file__).with_name("catalogue.md").write_text(page(schemas()), encoding="utf-8")
