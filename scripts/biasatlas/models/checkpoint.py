"""A checkpoint's folder, before anything is loaded from it."""

from biasatlas.errors import UserError
from biasatlas.models.hub import model_folder

_TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tokenizer_config.json")


def check_folder(source: str, revision: str | None, trust_remote_code: bool = False) -> None:
    """Raise UserError where the folder or the hub's snapshot lacks weights, configuration or tokenizer."""
    folder = model_folder(source, revision, trust_remote_code)
    for what, patterns in (
        ("weights (*.safetensors)", ("*.safetensors",)),
        ("config.json", ("config.json",)),
        ("tokenizer", _TOKENIZERS),
    ):
        if not any(path.stat().st_size for pattern in patterns for path in folder.glob(pattern)):
            raise UserError(f"{source}: no {what} there: point to a whole folder, as save_pretrained writes it.")
