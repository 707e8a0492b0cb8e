"""What other people's programs take for the same convolutions, measured on one kind of device."""

from dataclasses import dataclass

from results import case_fields, number, read_table

FILE = "h200_peers.csv"
DEVICE = "H200"
BATCH, CHANNELS = 64, 768  # what all numbers are brought to

COLUMNS = ("peer", "dtype", "arithmetic", "mode", "gated", "pass", "filter", "length", "batch", "channels", "protocol",
           "caches", "scaled_us", "rel_l2", "peak_mb", "status", "note")


@dataclass(frozen=True)
class Peer:
    """A forward convolution of 16-bit samples by another program, for B=64, H=768."""
    name: str
    dtype: str
    mode: str
    gated: bool
    with_filter: bool  # the time holds the transform of the filter
    length: int
    us: float
    scaled: bool  # brought linearly to B and H from fewer rows
    rel_l2: "float | None"  # error of y; None where it was not asked
    peak_bytes: "float | None"  # of device memory beside u and k, likewise; None where it was not asked
    arithmetic: str  # of the transform; empty: not recorded, and likewise
    protocol: str  # how it was timed
    caches: str  # cold or warm
    note: str

    def words(self):
        """What is known beside the time."""
        known = [f"{self.arithmetic} inside"] if self.arithmetic else []
        known += [f"{self.protocol} runs", f"caches {self.caches or 'not recorded'}"]
        return ", ".join(known + ([self.note] if self.note else []))

    def label(self):
        return self.name if "fp" in self.name else f"{self.name} ({'fp16' if self.dtype == 'f16' else self.dtype})"


def peer_of(row):
    """None where the row is no forward convolution of 16-bit samples that was right and timed."""
    if (row["pass"], row["status"]) != ("fwd", "ok") or not row["scaled_us"] or row["dtype"] == "f32":
        return None
    times = BATCH * CHANNELS / (int(row["batch"]) * int(row["channels"]))
    return Peer(row["peer"], row["dtype"], row["mode"], row["gated"] == "1", row["filter"] == "timed",
                int(row["length"]), number(row["scaled_us"]), times != 1,
                number(row["rel_l2"]) if row["rel_l2"] else None,
                number(row["peak_mb"]) * 1e6 * times if row["peak_mb"] else None, row["arithmetic"], row["protocol"],
                row["caches"], row["note"])


class Peers:
    def __init__(self, committed):
        source, rows = read_table(committed / FILE, COLUMNS, peer_of)
        self.sources = [source]
        self.all = [row for row in rows if row]

    def of(self, row):
        """The fastest time of each peer and type for a row's case on its device, without the filter's transform; there
        are such for B=64, H=768, with both gates or none."""
        fields = case_fields(row["case"])
        here = DEVICE in row["device"]["name"] and fields["k"] == fields["l"]
        if not here or (fields["b"], fields["h"]) != (BATCH, CHANNELS) or len(fields["gates"]) == 1:
            return []
        asked = fields["mode"], bool(fields["gates"]), fields["l"], False
        fastest = {}
        for peer in self.all:
            if (peer.mode, peer.gated, peer.length, peer.with_filter) == asked:
                name = peer.name, peer.dtype
                fastest[name] = min(peer, fastest.get(name, peer), key=lambda each: each.us)
        return list(fastest.values())

    def best(self, row):
        """The fastest of all, in either 16-bit type; none where none did the case."""
        return min(self.of(row), key=lambda peer: peer.us, default=None)

    def whole(self, name, mode, gated, length):
        """One peer in fp16 with its filter's transform, as the paper times; none where it did not do it."""
        asked = name, "f16", mode, gated, length, True
        return next((peer for peer in self.all if asked == (peer.name, peer.dtype, peer.mode, peer.gated, peer.length,
                                                            peer.with_filter)), None)
