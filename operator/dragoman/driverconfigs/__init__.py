"""Driver configs validated at admission: DriverConfigSchemas, their compilation, verdicts.

Pure. A schema passes `driverconfigschema` (parse), `structural` (may a CRD hold it?), `compiler`
(with `pruning`, `jsonschema`, `rules`) and `registry`. An object passes `strictjson` (parse without
loss), `entries` (find its configs), `lookup` (find the schema), `parameters_validation` (one
entry), `precedence` (entries together) and `verdict`; `validation` is the whole way. `manifests`
does the same for text files.
"""
