"""Rules of `dragoman check`: manifests in, findings out, without a cluster.

Pure: texts and facts come in as values, files and clusters are read by `dragoman_toolkit.check`.
The `engine` reads texts (`manifests`), validates objects as the API server does (`validation`), and
applies `rules` with what is known of drivers and devices (`knowledge`, `selectors`).
"""
