"""The page: devices, their holders, and pods that wait, for `top --html` and `ui`.

`page` computes what the page shows, `render` makes HTML of it, `feed` finds out what changed,
`serve` answers the browser, and `command` is `kubectl dra ui`.
"""
