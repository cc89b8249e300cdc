"""Driver configs validated at admission: DriverConfigSchemas, their compilation, verdicts.

Pure. A schema passes `objects` (parse), `schemas` (may a CustomResourceDefinition hold it?) and
`compile` (with the cost of its rules) into a registry. An object passes `strictjson` (parse without
loss) and `review`: find its configs and the schema of each, validate one entry, then all entries
together, and give a verdict; `review.validation` is the whole way. Faults are `fielderrors`.
"""
