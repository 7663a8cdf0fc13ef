# The agents' image and the operator's image, from one base.
#
#   docker build --target operator -t bernstein-operator .
#   docker build --target agent -t bernstein-agent .
#
# Buildah builds it as well. BASE_IMAGE is anything with Python 3.11 or later, its venv module, and git or
# apt-get. WHEELS names a folder of this context with every wheel of the two lock files, for machines that can't
# reach a package index while they build; `make images` fills it.
ARG BASE_IMAGE=python:3.13-slim-bookworm

# Python, git and the runner. An agent's own image needs only the first two: the runner is copied into its Pod.
FROM ${BASE_IMAGE} AS agent
RUN command -v git > /dev/null \
 || { apt-get update && apt-get install --yes --no-install-recommends git ca-certificates \
      && rm -rf /var/lib/apt/lists/*; }
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
RUN --mount=type=bind,source=operator,target=/source \
    mkdir -p /opt/bernstein && cd /source && python3 -m bernstein_agent.build --output /opt/bernstein/bernstein-agent.pyz
USER 10001:10001
ENTRYPOINT ["python3", "/opt/bernstein/bernstein-agent.pyz"]
CMD ["version"]

FROM ${BASE_IMAGE} AS packages
ARG WHEELS=""
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_COMPILE=1
WORKDIR /build
COPY requirements-build.lock requirements-operator.lock ./
RUN --mount=type=bind,target=/context \
    from="${WHEELS:+--no-index --find-links=/context/$WHEELS}" \
 && python3 -m venv venv \
 && venv/bin/pip install $from --require-hashes --only-binary=:all: -r requirements-build.lock \
 && venv/bin/pip install $from --require-hashes --only-binary=:all: -r requirements-operator.lock --target packages
COPY pyproject.toml LICENSE ./
COPY operator operator
# The README would only be copied into the package's metadata; so a change of words changes no image.
RUN touch README.md \
 && venv/bin/pip install --no-index --no-deps --no-build-isolation --target packages --upgrade . \
 && rm -r packages/bin packages/kubectl_bernstein

# Python and what the operator imports, nothing else.
FROM ${BASE_IMAGE} AS operator
COPY --from=packages /build/packages /opt/bernstein/packages
# The file system is read-only at run time, so byte code is made here.
RUN python3 -m compileall -q -j 0 /opt/bernstein/packages
ENV PYTHONPATH=/opt/bernstein/packages PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
EXPOSE 8080
ENTRYPOINT ["python3", "-m", "bernstein_operator"]
CMD ["run"]
