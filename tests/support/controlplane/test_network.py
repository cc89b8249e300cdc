"""Private networks: who reaches whom, and that nothing is left of them."""

import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
import urllib3

from tests.support.controlplane.api import wait_for
from tests.support.controlplane.components import KUBERNETES
from tests.support.controlplane.network import Network, Place, link_to, run
from tests.support.controlplane.plane import API_SERVER, ControlPlane

pytestmark = pytest.mark.usefixtures("private_networks")
ROOT = Path(__file__).parents[3]
SCRIPT = """
import time
from tests.support.controlplane.network import Network
with Network() as network:
    print(network.gateway, flush=True)
    time.sleep(600)
"""


def test_a_control_plane_in_a_network_of_its_own_serves_both_sides() -> None:
    network = Network()
    with ControlPlane(network=network, scheduler=True, audit=False) as plane:
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
        reader = plane.user("reader", rules)
        assert plane.api(reader).list("pods", "default") == []

        authority = str(plane.credentials.authority.certificate)
        inside = urllib3.PoolManager(ca_certs=authority, retries=False)
        url = f"https://{KUBERNETES}/version"
        assert network.inside(lambda: inside.request("GET", url).status) == 200

        plane.restart(API_SERVER)
        assert plane.kubectl("get", "pods", user=reader).returncode == 0


def test_each_address_has_ports_of_its_own_which_both_sides_reach() -> None:
    with Network() as network, ExitStack() as held:
        addresses = [network.address, network.add_address(), network.add_address()]
        assert len(set(addresses)) == 3
        for address in addresses:
            where = (address, 8443)
            server = network.inside(partial(socket.create_server, where))
            held.enter_context(server)
            for place in (network, Place()):
                with place.inside(partial(socket.create_connection, where, 5)):
                    caller, _ = server.accept()
                    caller.close()


def test_this_machine_is_reached_at_the_gateway_alone() -> None:
    with Network() as network, socket.create_server((network.gateway, 0)) as here:
        port = here.getsockname()[1]
        with network.inside(lambda: socket.create_connection((network.gateway, port), 5)):
            pass
        with pytest.raises(OSError, match="unreachable"):
            network.inside(lambda: socket.create_connection(("192.0.2.1", port), 5))


def test_nothing_is_left_of_a_network_whose_maker_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as script:
        assert script.stdout is not None
        gateway = script.stdout.readline().strip()
        assert f" {gateway}/" in addresses()
        script.send_signal(signal.SIGKILL)
    wait_for(lambda: f" {gateway}/" not in addresses(), 30, "the link to be gone")


def test_a_socket_that_stays_open_keeps_no_link() -> None:
    with Network() as network:
        left = network.inside(lambda: socket.create_server((network.address, 0)))
        assert f" {network.gateway}/" in addresses()
    assert f" {network.gateway}/" not in addresses()
    left.close()


def test_a_link_that_went_with_its_namespace_is_no_fault_at_the_end() -> None:
    with Network() as network:
        run("ip", "link", "delete", link_to(network.subnet))
    with pytest.raises(RuntimeError, match="does not exist"):
        run("ip", "address", "show", "dev", link_to(network.subnet))


def test_what_fails_inside_is_told_in_the_words_of_the_command() -> None:
    with Network() as network, pytest.raises(RuntimeError, match="does not exist"):
        network.run("ip", "link", "show", "no-such-device")
    with pytest.raises(RuntimeError, match="no network namespace"):
        network.run("true")


def addresses() -> str:
    return run("ip", "-4", "-brief", "address")
