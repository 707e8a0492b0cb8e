"""What other people's programs take for the same cases, measured on one kind of device."""

from dataclasses import dataclass, replace

from measurements import BATCH, CHANNELS
from results import case_fields, number, read_table

FILE, LAYERS, SHORT, ATTENTION = "h200_peers.csv", "h200_fno.csv", "h200_short.csv", "h200_attention.csv"
DEVICE = "H200"

COLUMNS = ("peer", "dtype", "arithmetic", "mode", "gated", "pass", "filter", "length", "batch", "channels", "protocol",
           "caches", "scaled_us", "rel_l2", "peak_mb", "status", "note")


OPERATIONS = {"fwd": "fftconv", "fwdbwd": "fftconvstep", "fwd+bwd": "fftconvstep"}  # of a row's pass


@dataclass(frozen=True)
class Peer:
    """A convolution of 16-bit samples by another program, forward or both passes of a step, for B=64, H=768."""
    name: str
    operation: str
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
    """None where the row is none of 16-bit samples that was right and timed."""
    if row["status"] != "ok" or not row["scaled_us"] or row["dtype"] == "f32":
        return None
    times = BATCH * CHANNELS / (int(row["batch"]) * int(row["channels"]))
    return Peer(row["peer"], OPERATIONS[row["pass"]], row["dtype"], row["mode"], row["gated"] == "1", row["filter"] == "timed",
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
        """The fastest time of each peer and type for a row's case on its device: of forward convolutions without the
        filter's transform, of steps, which peers time whole, with it. There are such for B=64, H=768, with both gates
        or none."""
        fields = case_fields(row["case"])
        here = DEVICE in row["device"]["name"] and fields["k"] == fields["l"]
        if not here or (fields["b"], fields["h"]) != (BATCH, CHANNELS) or len(fields["gates"]) == 1:
            return []
        asked = (fields["operation"], fields["mode"], bool(fields["gates"]), fields["l"],
                 fields["operation"] == "fftconvstep")
        fastest = {}
        for peer in self.all:
            if (peer.operation, peer.mode, peer.gated, peer.length, peer.with_filter) == asked:
                name = peer.name, peer.dtype
                fastest[name] = min(peer, fastest.get(name, peer), key=lambda each: each.us)
        return list(fastest.values())

    def all_of(self, row):
        """Every time of a row's forward case on its device, with the filter's transform or without, in either 16-bit
        type. There are such for B=64, H=768, K=L, with both gates or none."""
        fields = case_fields(row["case"])
        if not self.is_of(row) or (fields["b"], fields["h"]) != (BATCH, CHANNELS) or len(fields["gates"]) == 1:
            return []
        asked = fields["operation"], fields["mode"], bool(fields["gates"]), fields["l"]
        return [peer for peer in self.all if (peer.operation, peer.mode, peer.gated, peer.length) == asked]

    def is_of(self, row):
        """Whether others were timed on the row's GPU."""
        return DEVICE in row["device"]["name"]

    def best(self, row):
        """The fastest of all, in either 16-bit type; none where none did the case."""
        return min(self.of(row), key=lambda peer: peer.us, default=None)

    def of_name(self, words, dtype, row):
        """Of the peers whose names begin with these words the fastest whose error is known, of a row's ungated forward
        case in this type; with the filter's transform where they have no time without. None where none did it."""
        fields = case_fields(row["case"])
        asked = "fftconv", dtype, fields["mode"], False, fields["l"]
        ways = [peer for peer in self.all if peer.name.startswith(words) and peer.rel_l2 and
                (peer.operation, peer.dtype, peer.mode, peer.gated, peer.length) == asked] if self.is_of(row) else []
        return min(ways, key=lambda peer: (peer.with_filter, peer.us), default=None)

    def whole(self, name, mode, gated, length, operation="fftconv"):
        """One peer in fp16 with its filter's transform, as the paper times; none where it did not do it."""
        asked = name, operation, "f16", mode, gated, length, True
        return next((peer for peer in self.all if asked == (peer.name, peer.operation, peer.dtype, peer.mode,
                                                            peer.gated, peer.length, peer.with_filter)), None)

    def smallest(self, words, mode, length):
        """Of the peers whose names begin with these words the step in fp16 that needs the least memory; none where none
        did it."""
        of_name = [peer for peer in self.all if peer.name.startswith(words) and peer.operation == "fftconvstep" and
                   (peer.dtype, peer.mode, peer.gated, peer.length) == ("f16", mode, False, length) and
                   peer.peak_bytes]
        return min(of_name, key=lambda peer: peer.peak_bytes, default=None)


@dataclass(frozen=True)
class Layer:
    """A spectral layer by TurboFNO, and by its unfused pipeline with products in fp32 or TF32."""
    axes: int
    batch: int
    length: int  # of each axis
    inputs: int
    outputs: int
    variant: str
    turbofno_us: float
    base_f32_us: float
    base_tf32_us: float


def layer_of(row):
    return Layer(*(int(row[name]) for name in ("axes", "batch", "length", "inputs", "outputs")), row["variant"],
                 *(number(row[name]) for name in ("turbofno_us", "base_f32_us", "base_tf32_us")))


class Layers:
    KEPT = 64  # frequencies of each axis

    def __init__(self, committed):
        source, self.all = read_table(committed / LAYERS, tuple(Layer.__annotations__), layer_of)
        self.sources = [source]

    def of(self, row):
        """The same layer in fp32 or TF32 on the row's device; None where nobody did it."""
        fields = case_fields(row["case"])
        alike = (fields["dtype"] == "f32" and fields["complex"] and fields["shared"] and not fields["adjoint"] and
                 not fields["twosided"] and set(fields["modes"]) == {self.KEPT} and len(set(fields["lengths"])) == 1)
        if DEVICE not in row["device"]["name"] or not alike:
            return None
        asked = len(fields["lengths"]), fields["b"], fields["l"], *fields["channels"]
        return next((each for each in self.all if
                     asked == (each.axes, each.batch, each.length, each.inputs, each.outputs)), None)


@dataclass(frozen=True)
class ShortPeer:
    """A causal short convolution of rows [B, H, L] by another program: forward, or both passes."""
    peer: str
    dtype: str
    passes: str  # "fwd" or "fwd+bwd"
    taps: int
    length: int
    batch: int
    channels: int
    us: float


def short_of(row):
    return ShortPeer(row["peer"], row["dtype"], row["pass"], *(int(row[name]) for name in "KLBH"), number(row["median_us"]))


class ShortPeers:
    def __init__(self, committed):
        source, self.all = read_table(committed / SHORT, ("peer", "dtype", "pass", *"KLBH", "median_us"), short_of)
        self.sources = [source]

    def forward(self, fields, device):
        """Of the same type, taps and sizes as a case's fields, causal, without gates and bias, on that device; none where
        there is none."""
        extras = fields["bias"] or fields["gates"] or fields["channelslast"]
        if DEVICE not in device or fields["padding"] != "causal" or extras:
            return None
        asked = "fwd", *(fields[name] for name in ("dtype", "k", "l", "b", "h"))
        return next((each for each in self.all if asked == (each.passes, each.dtype, each.taps, each.length, each.batch,
                                                            each.channels)), None)


@dataclass(frozen=True)
class Attention:
    """Causal attention by another program, of `channels` numbers of each of q, k and v a position."""
    peer: str
    dtype: str
    length: int
    batch: int
    channels: int
    us: float


class Attentions:
    """None of them where the file is not there."""

    def __init__(self, committed):
        self.sources, self.all = [], []
        if (committed / ATTENTION).exists():
            source, self.all = read_table(committed / ATTENTION, tuple(Attention.__annotations__), attention_of)
            self.sources = [source]

    def fastest(self):
        """{length: the fastest there, brought to B=64, H=768}, shorter ones first."""
        found = {}
        for each in map(brought, self.all):
            found[each.length] = min(each, found.get(each.length, each), key=lambda one: one.us)
        return dict(sorted(found.items()))


def brought(attention):
    """Heads and rows are apart from each other, so that the time grows with both."""
    rows = BATCH * CHANNELS / (attention.batch * attention.channels)
    return replace(attention, batch=BATCH, channels=CHANNELS, us=attention.us * rows)


def attention_of(row):
    sizes = [int(row[name]) for name in ("length", "batch", "channels")]
    us = number(row["us"])
    if min(us, *sizes) <= 0:
        raise ValueError("length, batch, channels and us must be positive")
    return Attention(row["peer"], row["dtype"], *sizes, us)
