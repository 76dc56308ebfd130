# Everything the workflow needs on one machine, with or without a GPU (torch from PyPI brings CUDA):
#   docker build -t bias-atlas .
#   docker run --rm -v "$PWD:/work" bias-atlas --cores 4
#   docker run --rm --gpus all -v "$PWD:/work" bias-atlas --cores 8 --resources gpu=1 --configfile my.yaml
# By digest (Python 3.12.14), as github.com/docker-library/repo-info lists it.
FROM python:3.12-slim-bookworm@sha256:0f5b26b9518d002b6173fd61daad821fa340635ebfec5bba471013f9ca114579

# git tells the results which commit of the workflow made them.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && git config --system --add safe.directory /opt/bias-atlas

# Kubernetes' pods begin with `pip install` of the plugin for storage: it lies here, so that they need no index.
COPY requirements.in requirements-s3.txt requirements.lock /opt/bias-atlas/
RUN pip install --no-cache-dir pip==26.3 \
    && pip install --no-cache-dir -r /opt/bias-atlas/requirements.in -c /opt/bias-atlas/requirements.lock \
    && plugin="$(grep '^snakemake-storage-plugin-s3' /opt/bias-atlas/requirements-s3.txt)" \
    && pip install --no-cache-dir "$plugin" && pip download --no-deps --dest /opt/plugins "$plugin"

COPY . /opt/bias-atlas
WORKDIR /work
ENV HF_HOME=/work/data/huggingface
# Snakemake finds the library by itself; `docker run --entrypoint python bias-atlas -m biasatlas VERB` does by this.
ENV PYTHONPATH=/opt/bias-atlas/scripts
ENV PIP_NO_INDEX=1 PIP_NO_DEPS=1 PIP_FIND_LINKS=/opt/plugins
ENTRYPOINT ["snakemake", "--snakefile", "/opt/bias-atlas/Snakefile", "--workflow-profile", "/opt/bias-atlas/profiles/default"]
CMD ["--cores", "1"]
