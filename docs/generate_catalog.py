"""Write docs/catalog.md from the objects in crds/catalog."""

from pathlib import Path

from docs.catalog_page import page
from dragoman_configs.catalog import releases, schemas

Path(__file__).with_name("catalog.md").write_text(page(schemas(), releases()), encoding="utf-8")
