"""GPT-2 124M beside PyTorch, compiled and compiled with the loss in chunks, and transformers as it comes."""
import duel

run = duel.run


def pack(pack, section):
    duel.pack_rows(pack, section, "gpt2", ["compiled", "compiled-chunked", "transformers"])
