"""Llama of 1.1B parameters beside PyTorch: compiled, and compiled with the loss in chunks."""
import duel

run = duel.run


def pack(pack, section):
    duel.pack_rows(pack, section, "llama", ["compiled", "compiled-chunked"])
