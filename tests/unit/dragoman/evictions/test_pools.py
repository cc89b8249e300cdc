"""Which taints count while drivers publish, and which devices a change concerns."""

from dragoman.evictions.pools import Pools
from tests.unit.dragoman.evictions.builders import DRIVER, a_rule, a_slice, taint

GPU = (DRIVER, "node-1", "gpu-0")
OTHER = (DRIVER, "node-1", "gpu-1")
OLD = a_slice("one", gpu_0=taint(), count=2), a_slice("two", gpu_1=taint(), count=2)


def keys(pools: Pools) -> list[bool]:
    return [bool(pools.taints(device)) for device in (GPU, OTHER)]


def test_a_change_names_the_devices_whose_taints_changed() -> None:
    pools = Pools()
    before = a_slice("s", "gpu-0", "gpu-1")
    assert pools.change(None, before) == set()
    tainted = a_slice("s", "gpu-1", gpu_0=taint())
    assert pools.change(before, tainted) == {GPU}
    assert pools.change(tainted, tainted) == set()
    later = a_slice("s", "gpu-1", gpu_0=taint(after=5))
    assert pools.change(tainted, later) == {GPU}
    assert pools.change(later, None) == {GPU}
    assert keys(pools) == [False, False]


def test_taints_that_do_not_evict_are_no_change() -> None:
    pools = Pools()
    assert pools.change(None, a_slice(gpu_0=taint(effect="NoSchedule"))) == set()


def test_a_slice_that_moves_leaves_its_pool() -> None:
    before, after = a_slice(gpu_0=taint()), a_slice(gpu_0=taint(), pool="node-2")
    pools = Pools([before])
    assert pools.change(before, after) == {GPU, (DRIVER, "node-2", "gpu-0")}
    assert keys(pools) == [False, False]


def test_the_highest_generation_counts() -> None:
    pools = Pools([a_slice("one", gpu_0=taint())])
    assert pools.change(None, a_slice("two", "gpu-0", generation=2)) == {GPU}
    assert pools.count(a_rule().rule) == 1


def test_taints_stay_until_the_new_generation_is_complete() -> None:
    pools = Pools(OLD)
    new = a_slice("one", "gpu-0", generation=2, count=2)
    # The device was published again, without its taint; the other one was not published yet.
    assert pools.change(OLD[0], new) == {GPU}
    assert keys(pools) == [False, True]
    assert pools.change(OLD[1], None) == set()
    assert pools.change(None, a_slice("two", "gpu-1", generation=2, count=2)) == {OTHER}


def test_taints_of_a_complete_old_generation_are_found_after_a_restart() -> None:
    pools = Pools([a_slice("new", "gpu-0", generation=2, count=2), a_slice("old", gpu_1=taint())])
    assert keys(pools) == [False, True]


def test_a_slice_that_is_missing_in_the_same_generation_has_no_devices() -> None:
    pools = Pools(OLD)
    assert pools.change(OLD[1], None) == {OTHER}


def test_a_new_generation_that_is_withdrawn_gives_way_to_the_old_one() -> None:
    pools = Pools(OLD)
    new = a_slice("new", "gpu-0", "gpu-1", generation=2)
    assert pools.change(None, new) == {GPU, OTHER}
    assert pools.change(new, None) == {GPU, OTHER}
