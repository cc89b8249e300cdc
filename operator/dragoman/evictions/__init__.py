"""Which pods must leave their devices, when and why: pure planners of device taint eviction.

Source: KEP-5055, as the device-taint-eviction-controller of kube-controller-manager does it; where
it is known to be at fault, docs/evictions.md says what is done here instead.

    facts = EvictionFacts(pods=[...], claims={...}, pools=Pools([...]), rules=ActiveRules([...]))
    for eviction in plan_evictions(facts, now):
        print(eviction.pod.metadata.name, *eviction.due.reasons)
"""
