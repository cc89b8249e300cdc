"""Rules of `dragoman check`: manifests in, findings out, without a cluster.

Pure: texts and facts come in as values, files and clusters are read by `dragoman.cli.check`.
"""
