"""Sums of matrices by factors (PowerSGD), written a second time, in f64: for test/invariance/compress.

The ranks' matrices M are added up as U'(U sum(M)), where U is an orthonormal basis of the rows of sum(Q M'), and Q has
random signs. A GEMM's order is its library's affair, so the compiler's sums have these numbers, and not their bits."""
import math
import zlib

from philox import philox  # test/, where training has put it on the path


def matrix_of(shape, rank):
    """Rows and columns of the matrix that a weight is; None where factors have more than half of its elements."""
    count = math.prod(shape)
    cuts = [math.prod(shape[:i + 1]) for i in range(len(shape))]
    rows = min(cuts, key=lambda rows: rows + count // rows) if cuts else 1
    return (rows, count // rows) if cuts and 2 * rank * (rows + count // rows) <= count else None


def signs(rank, columns, seed, step, layer, name):
    key = seed | (layer * 65536 + 32768 + zlib.crc32(name.encode()) % 32768) << 32
    drawn = [1.0 if philox(key, step, element // 4)[element % 4] >= 1 << 31 else -1.0 for element in range(rank * columns)]
    return [drawn[i * columns:(i + 1) * columns] for i in range(rank)]


def product(x, y):
    """x [n, k] times y [m, k] transposed."""
    return [[math.fsum(a * b for a, b in zip(one, other)) for other in y] for one in x]


def transposed(x):
    return [list(column) for column in zip(*x)]


def added(matrices):
    return [[math.fsum(cells) for cells in zip(*rows)] for rows in zip(*matrices)]


def orthonormal(x):
    """Gram-Schmidt of the rows in their order; one of which the others leave next to nothing is zero."""
    basis = []
    dot = lambda a, b: math.fsum(p * q for p, q in zip(a, b))
    for v in x:
        whole = dot(v, v)
        for u in basis:
            along = dot(u, v)
            v = [a - along * b for a, b in zip(v, u)]
        left = dot(v, v)
        inverse = 1 / math.sqrt(left) if left > 1e-10 * whole else 0.0
        basis.append([inverse * a for a in v])
    return basis


def sum_by_factors(matrices, q):
    """The sum, and what each matrix has outside of the space of the factors."""
    basis = orthonormal(added([product(q, matrix) for matrix in matrices]))  # [rank, row]
    projections = [product(basis, transposed(matrix)) for matrix in matrices]  # [rank, column]
    whole = lambda projection: product(transposed(basis), transposed(projection))
    lost = [[[a - b for a, b in zip(one, other)] for one, other in zip(matrix, whole(projection))]
            for matrix, projection in zip(matrices, projections)]
    return whole(added(projections)), lost
