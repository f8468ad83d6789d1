# Built of a clone: the archive with Node inside, and under it the C and C++ libraries of Debian 12 and nothing else.
FROM rust:1-slim-bookworm AS rust

FROM node:22-bookworm AS build
RUN [ "$(uname -m)" = x86_64 ] || { echo "The image is only for x64: docker build --platform linux/amd64" >&2; exit 1; }
COPY --from=rust /usr/local/cargo /usr/local/cargo
COPY --from=rust /usr/local/rustup /usr/local/rustup
ENV CARGO_HOME=/usr/local/cargo RUSTUP_HOME=/usr/local/rustup PATH=/usr/local/cargo/bin:$PATH
WORKDIR /source
COPY . .
RUN npm install --ignore-scripts && npm run package -- /packages
RUN apt-get update && packaging/image.sh /packages/fusegate-*-linux-*.tar.gz /image

FROM scratch
COPY --from=build /image /
WORKDIR /fusegate
USER 1000:1000
ENV HOST=0.0.0.0
EXPOSE 8080
VOLUME /fusegate/data
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["/fusegate/bin/node", "-e", \
  "fetch(`http://127.0.0.1:${process.env.PORT ?? 8080}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/fusegate/bin/node", "/fusegate/app/fusegate.mjs"]
CMD ["serve"]
