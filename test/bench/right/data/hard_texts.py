"""Trains small vocabularies with the pre-tokenizers of public models, and keeps the token ids that the Rust library
gives for the texts.

    npx tsx -e "import('./test/bench/right/data/hard-texts.ts').then((m) => console.log(JSON.stringify(m.hardTexts(5000))))" > texts.json
    python test/bench/right/data/hard_texts.py texts.json      # tokenizers 0.23.3

`hard-texts/<name>.json` keeps each tokenizer.json. For the ids of each text, `hard-texts/<name>.bin` keeps the first
four bytes of the SHA-256 (of JSON without spaces).
"""

import hashlib
import json
import sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

here = Path(__file__).parent
folder = here / "hard-texts"
CASES = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = CASES + r"\p{N}" + REST
LLAMA = CASES + r"\p{N}{1,3}" + REST


def split(pattern: str):
    bytes_only = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), bytes_only])


def smollm2():
    digits = pre_tokenizers.Digits(individual_digits=True)
    return pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])


SPECIAL = ["<|im_start|>", "<|im_end|>"]
PLAIN = ["<tool_call>", "</tool_call>"]
HARD = [
    AddedToken("word", single_word=True, normalized=False),
    AddedToken("keep", single_word=True, lstrip=True, normalized=False),
    AddedToken("trim", lstrip=True, rstrip=True, normalized=False),
    AddedToken("KEEP", single_word=True, normalized=True),
]

MODELS = {
    "smollm2": (smollm2, None, False, []),
    "qwen2.5": (lambda: split(QWEN), normalizers.NFC, False, []),
    "qwen3": (lambda: split(QWEN), normalizers.NFC, False, ["<think>", "</think>"]),
    "llama3": (lambda: split(LLAMA), None, True, []),
    "single-word": (smollm2, normalizers.NFC, False, HARD),
}


def train(name: str, texts: list) -> Tokenizer:
    make, normalizer, ignore_merges, added = MODELS[name]
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer is not None:
        tokenizer.normalizer = normalizer()
    tokenizer.pre_tokenizer = make()
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=SPECIAL
    )
    tokenizer.train_from_iterator(texts[:1500], trainer)
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in PLAIN])
    tokenizer.add_tokens([AddedToken(one, normalized=False) if isinstance(one, str) else one for one in added])
    return tokenizer


def digest(ids: list) -> bytes:
    return hashlib.sha256(json.dumps(ids, separators=(",", ":")).encode()).digest()[:4]


def main() -> None:
    texts = json.loads(Path(sys.argv[1]).read_text())
    folder.mkdir(exist_ok=True)
    for name in MODELS:
        tokenizer = train(name, texts)
        (folder / f"{name}.json").write_text(json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":")))
        keep(name, tokenizer, texts)
    nano = here.parents[3] / "packages" / "nano" / "model" / "tokenizer.json"
    keep("nano", Tokenizer.from_file(str(nano)), texts)


def keep(name: str, tokenizer: Tokenizer, texts: list) -> None:
    encoded = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    (folder / f"{name}.bin").write_bytes(b"".join(digest(ids) for ids in encoded))


main()
