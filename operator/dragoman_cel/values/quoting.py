"""Texts in quotes, as Go's `%q` writes them into error messages."""

ESCAPES = {
    "\\": r"\\",  # first, since the others write it
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    '"': r"\"",
}
"""The short escapes of Go and CEL."""


def quoted(text: str) -> str:
    r"""Quote like Go's `strconv.Quote`: `\x`, `\u`, `\U` for what cannot be printed.

    A lone byte that is no UTF-8 comes as a surrogate escape, as Python decodes it.
    """
    if text.isprintable():
        plain = text.replace("\\", r"\\").replace('"', r"\"")
        return f'"{plain}"'
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    short = ESCAPES.get(char)
    if short is not None:
        return short
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80 or 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code & 0xFF:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
