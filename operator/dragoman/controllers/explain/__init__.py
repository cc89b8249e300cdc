"""The explain controller: Events and metrics about pods that wait for devices."""
