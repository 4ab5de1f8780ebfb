"""BLAKE3 in its derive_key mode, for inputs that are in memory. Slow and plain: it only has to be right.

Written after the BLAKE3 paper (section 2). The library that the Rust code uses is another one, which is the point.
"""

IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
COLUMNS_THEN_DIAGONALS = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)
BLOCK, CHUNK = 64, 1024
CHUNK_START, CHUNK_END, PARENT, ROOT, CONTEXT, MATERIAL = 1, 2, 4, 8, 32, 64
WORD = 0xFFFFFFFF


def rotate(word, bits):
    return (word >> bits | word << (32 - bits)) & WORD


def compress(chaining, block, counter, length, flags):
    """One block of 64 bytes (16 words) into 16 words, of which the first 8 are the next chaining value."""
    state = list(chaining) + list(IV[:4]) + [counter & WORD, counter >> 32, length, flags]
    words = list(block)
    for _ in range(7):
        for index, (a, b, c, d) in enumerate(COLUMNS_THEN_DIAGONALS):
            for word, turn_d, turn_b in ((words[2 * index], 16, 12), (words[2 * index + 1], 8, 7)):
                state[a] = (state[a] + state[b] + word) & WORD
                state[d] = rotate(state[d] ^ state[a], turn_d)
                state[c] = (state[c] + state[d]) & WORD
                state[b] = rotate(state[b] ^ state[c], turn_b)
        words = [words[index] for index in PERMUTATION]
    return [state[i] ^ state[i + 8] for i in range(8)]


def words_of(data):
    data = data.ljust(BLOCK, b"\0")
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, BLOCK, 4)]


def chunk(key, data, counter, flags, root):
    """The chaining value of up to 1,024 bytes; ROOT is set on the last block if they are all there is."""
    chaining = key
    blocks = [data[i : i + BLOCK] for i in range(0, len(data), BLOCK)] or [b""]
    for index, block in enumerate(blocks):
        mark = flags | (CHUNK_START if index == 0 else 0)
        if index == len(blocks) - 1:
            mark |= CHUNK_END | (ROOT if root else 0)
        chaining = compress(chaining, words_of(block), counter, len(block), mark)
    return chaining


def tree(key, data, counter, flags, root=True):
    """The left half of a node has the largest power of two of chunks that leaves something to the right one."""
    if len(data) <= CHUNK:
        return chunk(key, data, counter, flags, root)
    left = CHUNK
    while 2 * left < len(data):
        left *= 2
    children = tree(key, data[:left], counter, flags, False) + tree(
        key, data[left:], counter + left // CHUNK, flags, False
    )
    return compress(key, children, 0, BLOCK, flags | PARENT | (ROOT if root else 0))


def derive_key(context, material):
    """The 32 bytes that BLAKE3 derives from key material in a context."""
    key = tree(IV, context.encode(), 0, CONTEXT)
    return b"".join(word.to_bytes(4, "little") for word in tree(key, material, 0, MATERIAL))
