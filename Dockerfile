# The command, as a user without rights:
#   docker build -t scrapy-rep . && docker run --rm -v "$PWD:/work" scrapy-rep lint robots.txt
FROM python:3.13-slim
COPY pyproject.toml README.md LICENSE /source/
COPY scrapy_rep /source/scrapy_rep
RUN pip install --no-cache-dir "/source[redis,report,warc]" && rm -r /source && useradd --create-home rep
USER rep
WORKDIR /work
ENTRYPOINT ["scrapy-rep"]
