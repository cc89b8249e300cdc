"""What kubelet and driver say to each other, byte for byte as protobuf has it."""

import pytest

from dragoman_drivers.kubeletplugin import messages
from dragoman_drivers.kubeletplugin.messages import ClaimReference, PreparedDevice

CLAIM = ClaimReference("ns", "uid-1", "one")
CLAIM_BYTES = b"\x0a\x02ns\x12\x05uid-1\x1a\x03one"


def test_claims_are_read_from_a_request() -> None:
    request = b"\x0a\x10" + CLAIM_BYTES + b"\x0a\x04\x12\x02u2"
    assert messages.read_claims(request) == (CLAIM, ClaimReference("", "u2", ""))


def test_prepared_devices_are_written_in_the_order_of_their_fields() -> None:
    device = PreparedDevice(("gpu",), "node-1", "device-0", ("x/claim=a",))
    assert messages.write_prepared({"u": (device,)}) == (
        b"\x0a\x29"
        b"\x0a\x01u"
        b"\x12\x24"
        b"\x0a\x22"
        b"\x0a\x03gpu\x12\x06node-1\x1a\x08device-0\x22\x09x/claim=a"
    )


def test_a_refusal_is_written_in_place_of_devices() -> None:
    assert messages.write_prepared({"u": "no"}) == b"\x0a\x09\x0a\x01u\x12\x04\x12\x02no"


def test_a_claim_that_was_unprepared_has_an_empty_answer_of_its_own() -> None:
    assert messages.write_unprepared({"u": ""}) == b"\x0a\x05\x0a\x01u\x12\x00"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        pytest.param(b"\x08\x01", "", id="registered"),
        pytest.param(b"\x12\x03bad", "bad", id="refused"),
        pytest.param(b"", "not registered", id="refused without a word"),
    ],
)
def test_the_kubelets_answer_tells_why_a_driver_is_not_registered(
    status: bytes, error: str
) -> None:
    assert messages.read_registration(status) == error


def test_fields_that_are_not_known_are_passed_over() -> None:
    other = b"\x98\x06\xac\x02" + b"\x99\x06" + bytes(8) + b"\x9d\x06" + bytes(4)
    assert messages.read_claims(other + b"\x0a\x10" + CLAIM_BYTES + other) == (CLAIM,)


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(b"\x0a\x05ab", id="text that is cut off"),
        pytest.param(b"\x08", id="number that is missing"),
        pytest.param(b"\x08\x80", id="number that is cut off"),
        pytest.param(b"\x08" + b"\x80" * 11 + b"\x01", id="number without end"),
        pytest.param(b"\x0b", id="a group"),
        pytest.param(b"\x12\x02\xff\xfe", id="text that is not UTF-8, which the kubelet refuses"),
    ],
)
def test_bytes_that_are_no_message_are_refused(message: bytes) -> None:
    with pytest.raises(ValueError, match="parsing message"):
        messages.read_registration(message)


def test_answers_are_read_as_they_were_written() -> None:
    device = PreparedDevice(("gpu", "big"), "node-1", "device-0", ("x/c=a", "x/c=b"), "share")
    answers: dict[str, messages.Prepared | str] = {"u": (device,), "v": "no", "w": ()}
    assert messages.read_prepared(messages.write_prepared(answers)) == answers
    errors = {"u": "", "v": "no"}
    assert messages.read_unprepared(messages.write_unprepared(errors)) == errors
    info = messages.PluginInfo("DRAPlugin", "a.b", "/x/dra.sock", ("v1.DRAPlugin", "other"))
    assert messages.read_info(messages.write_info(info)) == info
    assert messages.read_claims(messages.write_claims([CLAIM])) == (CLAIM,)


def test_health_is_read_as_it_was_written() -> None:
    devices = (
        messages.DeviceHealth("pool", "device-0", messages.UNHEALTHY, 1_700_000_000, 30, "hot"),
        messages.DeviceHealth("pool", "device-1", messages.UNKNOWN),
    )
    assert messages.read_health(messages.write_health(devices)) == devices
