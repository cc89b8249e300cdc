"""The pretended driver, and what the kit needs to know of it."""

from pathlib import Path

FOLDER = Path(__file__).parent
DEVICES = FOLDER / "devices.yaml"
COMMAND = (
    f"{{python}} -m dragoman pretend --from {DEVICES} --node {{node}} "
    "--kubelet-dir {kubelet_dir} "
    "--cdi-dir {cdi_dir} --kubeconfig {kubeconfig} --instance {instance} --http-port {http_port}"
)


def profile() -> str:
    """Return the profile of the pretended driver."""
    return (FOLDER / "pretend.yaml").read_text().replace("SOURCE", str(DEVICES))


def command(*faults: str) -> str:
    """Return the command of the driver with faults."""
    return COMMAND + "".join(f" --fault {one}" for one in faults)
