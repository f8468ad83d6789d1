# Debian 13: its glibc (2.41) loads both builds of uWebSockets.js, and so Node 22 and 24.
FROM rust:1-slim-trixie AS rust

FROM node:24-trixie-slim AS build
COPY --from=rust /usr/local/cargo /usr/local/cargo
COPY --from=rust /usr/local/rustup /usr/local/rustup
ENV CARGO_HOME=/usr/local/cargo RUSTUP_HOME=/usr/local/rustup PATH=/usr/local/cargo/bin:$PATH
RUN apt-get update && apt-get install -y --no-install-recommends g++ make python3 && rm -rf /var/lib/apt/lists/*
WORKDIR /fusegate
COPY . .
# ONNX Runtime brings its libraries for every system.
RUN npm install --omit=dev && npm run build && rm -rf target \
  && find node_modules/onnxruntime-node/bin -mindepth 2 -maxdepth 2 ! -name linux -exec rm -rf {} +

FROM node:24-trixie-slim
WORKDIR /fusegate
COPY --from=build --chown=node:node /fusegate .
# A new volume takes its owner from the image's folder; COPY leaves /fusegate itself to root.
RUN install -d -o node -g node -m 700 /fusegate/data
USER node
ENV HOST=0.0.0.0
EXPOSE 8080
VOLUME /fusegate/data
# Not fusegate.mjs, which builds anew when times of files change, as they do when an image is moved.
ENTRYPOINT ["node", "dist/src/main.js"]
CMD ["serve"]
