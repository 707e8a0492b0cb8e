"""State-space models against length: predicted rows of danaus model --sweep state, measured ones, and attention."""

import ways
from measurements import BATCH, scale_of
from results import case_fields

DRAWN = 64  # S of what stands beside other ways


def is_drawn(fields):
    return fields["dtype"] == "f16" and fields["b"] == BATCH and not (fields["initial"] or fields["final"])


def by_length(cases, way):
    """{L: microseconds of B=64, H=768} by a way, of {case: {way: microseconds}}."""
    found = {}
    for case, times in cases.items():
        fields = case_fields(case)
        if is_drawn(fields) and fields["s"] == DRAWN and way in times:
            found[fields["l"]] = times[way] * scale_of(fields)
    return found


def crossings(cases, attention):
    """Where one way takes longer than another, in words, a line for each two that share lengths; `cases` as by_length()
    takes them, `attention`: {L: microseconds}."""
    chunks, fft = by_length(cases, ways.KERNEL), by_length(cases, "full_fft")
    pairs = ((f"fused FFT > state, S={DRAWN}", fft, chunks), (f"attention > state, S={DRAWN}", attention, chunks),
             ("attention > fused FFT", attention, fft))
    return [f"{words}: {ways.crossing_words(ways.crossings(one, other))}" for words, one, other in pairs
            if set(one) & set(other)]


def attention_us(attention):
    """{L: microseconds} of the fastest."""
    return {length: peer.us for length, peer in attention.fastest().items()}
