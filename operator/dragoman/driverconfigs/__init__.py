"""Driver configs checked at the door: DriverConfigSchemas, what they compile to, and verdicts.

Pure. The way of a schema: `driverconfigschema` (parse) -> `structural` (would a CRD take it?) ->
`translation`, `validators`, `members`, `rules` -> `compilation` -> `registry`. The way of an
object: `parameters` (parse without loss) -> `entries` (find its configs) -> `choice` (by which
schema?) -> `judgement` (one entry's parameters), `arrangement` (entries together) -> `verdicts`;
`review` is the whole way. `manifests` is the same for text files.
"""
