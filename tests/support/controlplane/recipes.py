"""How each binary of the control plane is built, and where else it may come from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recipe:
    """Tells how one binary is built.

    Attributes:
        name: File name of the binary.
        module: Folder below go/ whose go.mod pins it; `{version}` is the Kubernetes version.
        package: Go package of its main function.
        minutes: How long a build usually takes on two cores with nothing cached.
        stamp: Go variables that the linker sets, by name; values may use the fields
            `{version}`, `{major}`, `{minor}` of the pinned module.
        pinned: Module whose version is stamped.
        elsewhere: Environment variable of a folder that may hold it ready-made.
        on_path: Whether a binary on PATH serves as well.
        tags: Go build tags.
        test: Whether the package holds tests, and the binary runs them.
        library: C library that is linked into it, named as pkg-config knows it; without one the
            binary is pure Go.
    """

    name: str
    module: str
    package: str
    minutes: float
    stamp: tuple[tuple[str, str], ...] = ()
    pinned: str = ""
    elsewhere: str = ""
    on_path: bool = False
    tags: tuple[str, ...] = ()
    library: str = ""
    test: bool = False


def kubernetes(
    name: str,
    minutes: float,
    *,
    module: str = "kubernetes",
    envtest: bool = False,
    on_path: bool = False,
) -> Recipe:
    """Return the recipe of one command of the Kubernetes module."""
    return Recipe(
        name=name,
        module=f"{module}-{{version}}",
        package=f"k8s.io/kubernetes/cmd/{name}",
        minutes=minutes,
        stamp=(
            ("k8s.io/component-base/version.gitVersion", "{version}"),
            ("k8s.io/client-go/pkg/version.gitVersion", "{version}"),
            ("k8s.io/component-base/version.gitMajor", "{major}"),
            ("k8s.io/component-base/version.gitMinor", "{minor}"),
        ),
        pinned="k8s.io/kubernetes",
        elsewhere="KUBEBUILDER_ASSETS" if envtest else "",
        on_path=on_path,
    )


def containerd(name: str, minutes: float) -> Recipe:
    """Return the recipe of one command of the containerd module, without rare file systems."""
    module = "github.com/containerd/containerd/v2"
    return Recipe(
        name=name,
        module="containerd",
        package=f"{module}/cmd/{name}",
        minutes=minutes,
        stamp=((f"{module}/version.Version", "{version}"),),
        pinned=module,
        tags=("no_btrfs", "no_devmapper", "no_zfs", "no_aufs", "osusergo", "netgo"),
    )


def cni(name: str, kind: str) -> Recipe:
    """Return the recipe of one of the reference network plugins; `kind` is its folder there."""
    package = f"github.com/containernetworking/plugins/plugins/{kind}/{name}"
    return Recipe(name, "cni", package, 0.3)


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("etcd", "etcd", "go.etcd.io/etcd/server/v3", 1, elsewhere="KUBEBUILDER_ASSETS"),
        kubernetes("kube-apiserver", 5, envtest=True),
        kubernetes("kube-scheduler", 1),
        kubernetes("kube-controller-manager", 1),
        kubernetes("kubectl", 1, envtest=True, on_path=True),
        Recipe(
            name="helm",
            module="helm",
            package="helm.sh/helm/v4/cmd/helm",
            minutes=3,
            stamp=(("helm.sh/helm/v4/internal/version.version", "{version}"),),
            pinned="helm.sh/helm/v4",
        ),
        Recipe(
            name="helm3",
            module="helm3",
            package="helm.sh/helm/v3/cmd/helm",
            minutes=1.5,
            stamp=(("helm.sh/helm/v3/internal/version.version", "{version}"),),
            pinned="helm.sh/helm/v3",
        ),
        Recipe("certmanager", "certmanager", ".", 2),
        Recipe(
            name="promtool",
            module="promtool",
            package="github.com/prometheus/prometheus/cmd/promtool",
            minutes=2,
            tags=("remove_all_sd",),  # rules are read without the clouds in which targets are found
        ),
        Recipe("actionlint", "actionlint", "github.com/rhysd/actionlint/cmd/actionlint", 0.5),
        kubernetes("kubelet", 1, module="kubelet"),
        containerd("containerd", 1.5),
        containerd("containerd-shim-runc-v2", 0.2),
        containerd("ctr", 0.2),
        Recipe(
            name="runc",
            module="runc",
            package="github.com/opencontainers/runc",
            minutes=0.5,
            tags=("seccomp", "osusergo", "netgo"),
            library="libseccomp",
        ),
        cni("bridge", "main"),
        cni("ptp", "main"),
        cni("host-local", "ipam"),
        Recipe("errand", "errand", ".", 0.2),
        # What Kubernetes' own tests run in containers, beside a shell.
        Recipe("relay", "relay", ".", 0.2),
        Recipe(
            name="sample-device-plugin",
            module="kubelet-{version}",
            package="k8s.io/kubernetes/test/images/sample-device-plugin",
            minutes=1,
        ),
        # The limit in `make bench`: a client that only writes.
        Recipe("rawclient", "rawclient", ".", 1),
        # Kubernetes' own end-to-end tests, for `make test-upstream`.
        Recipe("upstream", "upstream-{version}", ".", 4, test=True),
    )
}
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubectl")
NODE = ("kubelet", "containerd", "containerd-shim-runc-v2", "ctr", "runc", "errand")
NETWORK = ("bridge", "ptp", "host-local")
