"""DRA drivers: the conformance kit, the pretended driver, and what both stand on."""
