"""What a call in chunks makes, said as a part of what the whole call would make.

A value in parts is known by its whole: ("part", whole, axes, i) is the block of the rank after own by i along the axes, or block i over no
axes. So a plan with chunks and one without leave the same, if each part is made of the right ones: a GEMM of part i of x makes part i of
the GEMM of x. The first of them reads x as it is, where others get it from another rank: ("own", call, operands). Blocks that are to be added are ("came", whole, axes, i): what the member before by i makes of the block of this one.
"""
import re

PART, OWN, CAME, ALL, ONE, CALL = "part", "own", "came", "all", "one", "call"


def is_of(content, kind):
    return isinstance(content, tuple) and content[:1] == (kind,)


def made(name, reads, i=0):
    """How the judge says that a call has made result i."""
    return hash(((name, *reads), i))


def whole_of(contents, axes, i):
    """Each content as it is, but parts i as their wholes. None if there is another part."""
    wholes = []
    for each in contents:
        if is_of(each, PART) and each[2:] != (axes, i):
            return None
        wholes.append(each[1] if is_of(each, PART) else each)
    return wholes


def of_part(name, reads, i=0):
    """Result i of a call of parts."""
    first = next((each for each in reads if is_of(each, PART)), None)
    wholes = whole_of(reads, *first[2:]) if first else None
    return (PART, made(name, wholes, i), *first[2:]) if wholes else None


def joined(reads, axes):
    """Parts, in the order of their blocks."""
    if all(is_of(each, PART) and each[2:] == (axes, i) and each[1] == reads[0][1] for i, each in enumerate(reads)):
        return reads[0][1]
    own, n = reads[0], len(reads)
    if is_of(own, OWN):
        for i in range(2, len(own)):
            whole = made(own[1], [*own[2:i], made(("all_gather", axes), [own[i]]), *own[i + 1:]])
            if reads[1:] == [(PART, whole, axes, i) for i in range(1, n)]:
                return whole
        return None
    gathered = made(("all_gather", axes), [own])
    if reads[1:] == [(PART, gathered, axes, i) for i in range(1, n)]:
        return gathered
    if is_of(own, PART) and own[2:] == (axes, 0) and reads[1:] == [(CAME, own[1], axes, n - i) for i in range(1, n)]:
        return (ALL, own[1], axes)
    return None


def contents_of(call, name, reads):
    """What a call of a part makes, by result; None for other calls, and for what is no part of anything."""
    if call.kind == "launch" and (cut := re.fullmatch(r"(.*)\.part\d+", name[1])):
        made_of = [of_part((name[0], cut[1]), reads, i) for i in range(len(call.results))]
    else:
        made_of = [content_of(call, name, reads)]
    return made_of if made_of[0] is not None else None


def content_of(call, name, reads):
    """The same of a call with one result. A kernel that adds blocks itself is ("call", name, operands): what it is with their sum
    instead."""
    over = re.search(r" over (\[[^]]*\])", call.text)
    axes = tuple(re.findall(r'"([^"]+)"', over[1])) if over else ()
    shift = int(m[1]) if (m := re.search(r" shift (\d+)", call.text)) else 0
    if call.kind == "slice" and "view" in call.text:
        return (ONE, *reads[0][1:], shift) if is_of(reads[0], ALL) and not axes else (PART, reads[0], axes, shift)
    if call.kind == "join":
        return joined(reads, axes)
    if call.kind == "permute":
        sources = [int(n) for n in re.search(r"sources \[([^]]*)\]", call.text)[1].split(",")]
        by, n = sources[0], len(sources)
        if sources != [(member + by) % n for member in range(n)]:
            return None
        if is_of(reads[0], PART):
            return (CAME, *reads[0][1:]) if reads[0][2:] == (axes, n - by) else None
        return (PART, made(("all_gather", axes), reads), axes, by)
    if call.kind == "matmul" and re.search(r" part\b", call.text):
        return of_part(name, reads) if any(is_of(each, PART) for each in reads) else (OWN, name, *reads)
    if call.kind == "launch":
        kernel = name[1]
        if fused := re.fullmatch(r"(.*)\.sum(\d+)\.(\d+)", kernel):
            at, n = int(fused[3]), int(fused[2])
            blocks = reads[at:at + n]
            if is_of(blocks[0], ONE) and blocks == [(ONE, *blocks[0][1:3], i) for i in range(n)]:
                whole = made(("reduce_scatter", blocks[0][2]), [blocks[0][1]])
                return (CALL, (name[0], fused[1]), *reads[:at], whole, *reads[at + n:])
        if re.fullmatch(r"sum\d+\.\d+", kernel) and all(is_of(each, ONE) for each in reads):
            _, whole, over, _ = reads[0]
            return made(("reduce_scatter", over), [whole]) if reads == [(ONE, whole, over, i) for i in range(len(reads))] else None
    if call.axes and is_of(reads[0], PART) and not reads[0][2]:
        return of_part(name, reads)
    return None
