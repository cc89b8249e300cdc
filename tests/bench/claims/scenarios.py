"""Everything that is measured, in the order of the table."""

from tests.bench.claims import creation, fairness, idle, release
from tests.bench.claims.competitors import (
    DRAGOMAN,
    RAW,
    RAW_JSON,
    RAW_PROTOBUF,
    STOCK,
    STOCK_DEFAULT,
)
from tests.bench.claims.trial import Scenario

SCENARIOS = {
    scenario.key: scenario
    for scenario in (
        Scenario(
            "catch-up",
            "3,000 one-claim pods exist, the controller starts",
            (STOCK_DEFAULT, STOCK, RAW, RAW_JSON, RAW_PROTOBUF, DRAGOMAN),
            creation.catch_up,
        ),
        Scenario(
            "while-created",
            "3,000 one-claim pods are created under a running controller",
            (STOCK, DRAGOMAN),
            creation.while_created,
        ),
        Scenario(
            "four-claims",
            "750 pods with 4 claims each exist, the controller starts",
            (STOCK, RAW, DRAGOMAN),
            creation.four_entries,
        ),
        Scenario(
            "writes",
            "writes for 1,500 one-claim pods and 375 four-claim pods",
            (STOCK, DRAGOMAN),
            creation.writes_spent,
        ),
        Scenario(
            "finished",
            "2,000 finished pods that stay as objects, the controller starts",
            (STOCK, RAW, DRAGOMAN),
            release.finished,
        ),
        Scenario(
            "life",
            "500 pods with devices finish while 500 others wait for devices",
            (STOCK, DRAGOMAN),
            release.life,
        ),
        Scenario(
            "life-writes",
            "writes for the full life of 500 allocated claims",
            (STOCK, DRAGOMAN),
            release.life_writes,
        ),
        Scenario(
            "burst",
            "10,000 pods at once while the claim watch is 2 s late",
            (STOCK, DRAGOMAN),
            creation.burst,
        ),
        Scenario(
            "noise",
            "10,000 settled claim pods, 20,000 plain pods, 500 updates/s of these",
            (STOCK, DRAGOMAN),
            idle.noise,
        ),
        Scenario(
            "reaction",
            "an idle controller, one pod at a time",
            (STOCK, DRAGOMAN),
            creation.reaction,
        ),
        Scenario(
            "restart",
            "the controller starts beside 10,000 settled pods",
            (STOCK, DRAGOMAN),
            idle.restart,
        ),
        Scenario(
            "neighbours",
            "3,000 pods of one namespace wake at once, pods of another are created one by one",
            (STOCK, DRAGOMAN),
            fairness.neighbours,
        ),
        Scenario(
            "fairness",
            "catch-up with 1,000 pods, with and without an own priority level",
            (DRAGOMAN,),
            fairness.fairness,
        ),
    )
}
