"""Write docs/catalogue.md from the objects in crds/catalogue."""

from pathlib import Path

from docs.catalogue_page import page
from dragoman.controllers.driverconfigschemas.catalogue import releases, schemas

Path(__file__).with_name("catalogue.md").write_text(page(schemas(), releases()), encoding="utf-8")
