"""The counter-based generator of weights, orders of data and dropout, for what tests compute a second time.

Philox 4x32-10; source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011."""
WORD = 0xFFFFFFFF


def philox(key, high, low):
    """The four words of a counter of 128 bits, with a key of 64."""
    keys, c = [key & WORD, key >> 32], [low & WORD, low >> 32, high & WORD, high >> 32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ keys[0], p1 & WORD, (p0 >> 32) ^ c[3] ^ keys[1], p0 & WORD]
        keys = [(keys[0] + 0x9E3779B9) & WORD, (keys[1] + 0xBB67AE85) & WORD]
    return c
