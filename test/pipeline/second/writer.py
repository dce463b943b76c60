"""Writes the order of one rank as tokens (section 1 of the survey)."""

from collections import deque


class RankWriter:
    """Writes the order of one rank; each (kind, chunk) has its own microbatch counter (section 1)."""

    def __init__(self, stages, first_microbatch=None):
        self.stages = stages
        self.first = first_microbatch or [0] * len(stages)
        self.count = {}
        self.pending_weights = deque()
        self.tokens = []

    def _next(self, kind, chunk):
        """Take the next microbatch of this kind and chunk and return (stage, microbatch)."""
        done = self.count.get((kind, chunk), 0)
        self.count[(kind, chunk)] = done + 1
        return self.stages[chunk], self.first[chunk] + done

    def done(self, kind, chunk):
        """How many actions of this kind and chunk are written so far."""
        return self.count.get((kind, chunk), 0)

    def forward(self, chunk):
        stage, microbatch = self._next("F", chunk)
        self.tokens.append(f"{stage}F{microbatch}")

    def backward(self, chunk):
        # I and B consume the same gradients, so they share one counter.
        stage, microbatch = self._next("I", chunk)
        self.tokens.append(f"{stage}B{microbatch}")

    def input_grad(self, chunk):
        stage, microbatch = self._next("I", chunk)
        self.tokens.append(f"{stage}I{microbatch}")
        self.pending_weights.append((stage, microbatch))

    def weight(self):
        """Write the weight gradient of the oldest I that still waits (one FIFO per rank, section 1)."""
        stage, microbatch = self.pending_weights.popleft()
        self.tokens.append(f"{stage}W{microbatch}")

    def weight_of(self, chunk):
        """Write the oldest weight gradient of this chunk (ZBV has one counter per chunk)."""
        stage, microbatch = self._next("W", chunk)
        self.pending_weights.remove((stage, microbatch))
        self.tokens.append(f"{stage}W{microbatch}")

    def all_weights(self):
        while self.pending_weights:
            self.weight()

    def pair(self, forward_chunk, backward_chunk):
        """Write one overlapped action: a forward of one chunk with a full backward of the other."""
        self.forward(forward_chunk)
        self.backward(backward_chunk)
        backward, forward = self.tokens.pop(), self.tokens.pop()
        self.tokens.append(f"({forward};{backward})")
