# One image for all sub-commands: dragoman operator, webhook, check, …
#
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg REVISION=$(git rev-parse HEAD) .
#
# Where no registry can be reached, `make image-rootfs` makes an equal image from Debian packages.
# For builds that can be repeated, give both bases by digest (name:tag@sha256:…); the release workflow
# looks the digests up, verifies the signature of BASE, and refuses a base without one.

ARG BUILD=python:3.13-slim-trixie
ARG BASE=gcr.io/distroless/python3-debian13:nonroot

FROM ${BASE} AS base

FROM ${BUILD} AS build
ARG TARGETARCH
ARG VERSION=0.1.0
ARG REVISION=unknown
WORKDIR /src
COPY requirements.txt ./
# No compiler is needed: all that is pinned has wheels for both architectures.
RUN --mount=type=cache,target=/root/.cache/pip \
    pip install --disable-pip-version-check --root-user-action=ignore --no-compile \
        --only-binary=:all: --require-hashes --requirement=requirements.txt --target=/app \
    && rm -rf /app/bin
# The bill of materials: the wheels above, and the packages of the base image.
COPY tests/image/sbom.py ./
RUN --mount=type=bind,from=base,source=/var/lib/dpkg/status.d,target=/packages \
    python sbom.py --app /app --packages /packages --version "${VERSION}" \
        --revision "${REVISION}" --architecture "${TARGETARCH}" > /dragoman.cdx.json
# Generated code, loaded on demand, of which nothing is ever asked for: 120 MB when compiled.
RUN for folder in aio client/api client/models; do \
        find "/app/kubernetes/$folder" -mindepth 1 -maxdepth 1 ! -name __init__.py -exec rm -rf {} +; \
    done
COPY operator /app
COPY webhooks /app
COPY crds /app/dragoman_configs/crds
# Nothing can be compiled at run time: the root file system is read-only.
RUN PYTHONHASHSEED=0 python -m compileall -qq --invalidation-mode=unchecked-hash /app

FROM ${BASE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="dragoman" \
    org.opencontainers.image.description="The control plane of Kubernetes Dynamic Resource Allocation: claims, driver configs, CEL" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}"
ENV LANG=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONPATH=/app \
    PYTHONUNBUFFERED=1
COPY --from=build /app /app
COPY --from=build /dragoman.cdx.json /usr/share/sbom/dragoman.cdx.json
WORKDIR /
USER 65532:65532
ENTRYPOINT ["/usr/bin/python3", "-P", "-m", "dragoman"]
