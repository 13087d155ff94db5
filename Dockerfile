# The command, as a user without rights:
#   docker build -t scrapy-rep . && docker run --rm -v "$PWD:/work" scrapy-rep lint robots.txt
FROM python:3.13-slim@sha256:9662417aace5ae7b8e2609cce472b72a8958e134ba372808abe9cc1a0c0125e6
COPY pyproject.toml README.md LICENSE /source/
COPY scrapy_rep /source/scrapy_rep
RUN pip install --no-cache-dir "/source[redis,report,warc]" && rm -r /source && useradd --create-home rep
USER rep
WORKDIR /work
ENTRYPOINT ["scrapy-rep"]
