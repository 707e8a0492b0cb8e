"""A case as its token and back, and random cases of an operation: lengths, batches, channels, types, options."""

import functools
import json
from ctypes import byref, c_void_p

import numpy as np

from danaus._library import OUTPUT, arrays_of, check, encoded, library, text_of

GRADIENT = {"fftconv": "fftconvgrad", "shortconv": "shortconvgrad", "spectral": "spectralgrad"}
# Options by the keyword that a candidate takes: the field of the token, and the value for each of its words.
KEYWORDS = {"mode": "mode", "padding": "padding", "channels_last": "channelslast", "two_sided": "twosided",
            "channel_major": "channelmajor", "adjoint": "adjoint", "shared": "shared", "return_state": "final",
            "unstable": "unstable"}
ARRAY_FLAGS = {"pregate": "pregate", "postgate": "postgate", "bias": "bias", "x_initial": "initial"}
FREE_FLAGS = {**{field: keyword for keyword, field in KEYWORDS.items()},
              **{field: name for name, field in ARRAY_FLAGS.items()}}


def _read(token):
    """The operation of a token, and its fields as the library reads them: name here -> what danaus_token_fields says.
    Names of sizes are in capitals."""
    text = c_void_p()
    check(library.danaus_token_fields(encoded("judge", "token", token), byref(text)))
    read = json.loads(text_of(text))
    names = {"type_of_k": "kf"}
    return read["operation"], {field["name"].upper() if field["kind"] in ("number", "list") else
                               names.get(field["name"], field["name"]): field for field in read["fields"]}


@functools.cache
def fields_of(operation):
    """name -> field of the operation's tokens, in their order."""
    return _read(operation)[1]


class Case:
    """What is asked, by fields: dtype, mode, L, K and so on. Flags are True or absent, lists are tuples."""

    def __init__(self, operation, **fields):
        self.operation, known = operation, fields_of(operation)
        self.fields = {name: fields[name] for name in known if fields.get(name) not in (None, False)}
        unknown = set(fields) - set(known)
        if unknown:
            raise ValueError(f"judge: {operation} has no field {sorted(unknown)[0]}; fields are {', '.join(known)}")
        if self.fields.get("K") == self.fields.get("L") and "mode" in known:
            self.fields.pop("K", None)

    @classmethod
    def parse(cls, token):
        """Of a token; some of its fields may be missing, as in fftconv_causal."""
        operation, read = _read(token)
        values = {name: field["value"] for name, field in read.items() if "value" in field}
        return cls(operation, **{name: tuple(value) if isinstance(value, list) else value
                                 for name, value in values.items()})

    def __getitem__(self, name):
        if name == "K" and "K" not in self.fields:
            return self.fields.get("L")
        return self.fields.get(name)

    def but(self, operation=None, **fields):
        """The case with other fields, or of another operation."""
        operation = operation or self.operation
        merged = {**self.fields, **fields}
        return Case(operation, **{name: value for name, value in merged.items() if name in fields_of(operation)})

    @property
    def token(self):
        words, known = [self.operation], fields_of(self.operation)
        for name, value in self.fields.items():
            kind = known[name]["kind"]
            numbers = "x".join(map(str, value)) if kind == "list" else str(value)
            words.append({"word": name, "one_of": value}.get(kind, known[name]["name"] + numbers))
        return "_".join(words)

    __str__ = __repr__ = lambda self: self.token

    def __eq__(self, other):
        return isinstance(other, Case) and self.token == other.token

    def __hash__(self):
        return hash(self.token)

    @property
    def arrays(self):
        """name -> (dtype, extents, is an output), in the order of the library; last extents of 2 are re and im."""
        return {info.name.decode(): (info.dtype.decode(), tuple(info.extents[:info.rank]), info.role == OUTPUT)
                for info in arrays_of(self.token)}

    @property
    def inputs(self):
        """The inputs in the order in which a candidate is given them: u, filters, dy, what is optional."""
        arrays = self.arrays
        order = ["u", "k", "w", "a", "b", "c", "dy", "bias", "pregate", "postgate", "x_initial"]
        return {name: arrays[name] for name in order if name in arrays}

    @property
    def outputs(self):
        """The outputs in the order in which a candidate returns them: y, then gradients in the order of inputs."""
        arrays = {name: of for name, of in self.arrays.items() if of[2]}
        order = ["y", "x_final", "du", "dk", "dw", "dbias", "dpregate", "dpostgate"]
        return {name: arrays[name] for name in order if name in arrays}

    def is_complex(self, name):
        """Whether an array's numbers are complex, with a last extent of 2 here."""
        return name in ("w", "dw", "a", "b", "c", "x_initial", "x_final") or bool(self["complex"])

    @property
    def axes(self):
        """Of u: its batch's axis, its channels' and those of a row's samples."""
        count = len(self["L"]) if self.operation.startswith("spectral") else 1
        if self["channelmajor"]:
            return 1, 0, tuple(range(2, 2 + count))
        return (0, 2, (1,)) if self["channelslast"] else (0, 1, tuple(range(2, 2 + count)))

    def keywords(self, accepted):
        """Options of the case for a candidate that takes these keywords."""
        words = {}
        for keyword, field in KEYWORDS.items():
            of = fields_of(self.operation).get(field)
            if keyword in accepted and of:
                words[keyword] = self[field] if of["kind"] == "one_of" else bool(self[field])
        return words


class Drawing:
    """Random cases within what is fixed. accepted: keywords that the candidate takes; an option that it does not take
    is left out, unless the fixed fields have it."""

    def __init__(self, fixed, accepted, dtypes, lengths=None, samples=1 << 14):
        self.fixed, self.accepted, self.dtypes, self.samples = fixed, accepted, tuple(dtypes), samples
        self.lengths = None if lengths is None else sorted(lengths)
        self.is_simple = False  # powers of two and K = L alone, for a candidate that refuses most others

    def case(self, number, **more):
        """The case of a number."""
        self.random = np.random.default_rng(number)
        self.number = number
        fixed, operation = {**self.fixed.fields, **more}, self.fixed.operation
        draw = {"spectral": self._layer, "ssmconv": self._state, "shortconv": self._short}.get(
            operation.replace("grad", ""), self._long)
        fields = draw(fixed)
        fields = {name: value for name, value in fields.items() if name in fields_of(operation)}
        return Case(operation, **{**fields, **fixed})

    def _of_any_scale(self, most, least=1):
        """As many small ones as large ones."""
        return int(np.clip(round(np.exp2(self.random.uniform(np.log2(least), np.log2(max(most, least))))), least, most))

    def _maybe(self, field, share=0.4):
        return FREE_FLAGS.get(field, field) in self.accepted and self.random.random() < share

    def _word(self, field):
        """causal, unless the candidate takes the option and may choose."""
        words = fields_of(self.fixed.operation)[field]["values"]
        return self.random.choice(words).item() if field in self.accepted else words[0]

    def _length(self, share=1.0):
        """Every residue of 8, FFT sizes and their neighbours, and lengths of any scale, to a quarter of all samples."""
        most = max(16, int(share * self.samples / 3.6))
        if self.lengths is not None:
            return int(self.random.choice(self.lengths))
        kind = 0 if self.is_simple else self.number % 4
        power = 1 << int(self.random.integers(3, max(4, most.bit_length())))
        if kind == 0:
            return power
        if kind == 1:
            return min(most, power + int(self.random.integers(-3, 4)))
        if kind == 2:
            return 8 * self._of_any_scale(40) + self.number // 4 % 8
        return self._of_any_scale(most)

    def _rows(self, samples):
        """A batch, odd as often as not, and channels; one case in six has many channels."""
        if self.number % 6 == 5:
            return int(self.random.integers(1, 3)), int(np.clip(samples, 1, 300))
        batch = int(self.random.integers(1, max(1, min(6, samples)) + 1))
        return batch, int(self.random.integers(1, max(1, min(5, samples // batch)) + 1))

    def _samples(self, length):
        return max(1, self.samples // max(length, 1))

    def _types(self, fixed):
        dtype = fixed.get("dtype") or self.random.choice(self.dtypes).item()
        own = dtype in ("f16", "bf16") and self.random.random() < 0.3
        return {"dtype": dtype, "kf": f"k{dtype}" if own else None}

    def _long(self, fixed):
        is_short = self.number % 6 == 5 and not self.lengths and not self.is_simple
        length = fixed.get("L") or (self._of_any_scale(64) if is_short else self._length())
        taps = length if self.is_simple else (length, self._of_any_scale(length), min(length, 1 + self.number % 9),
                int(self.random.integers(1, 2 * length + 1)))[int(self.random.choice(4, p=[0.4, 0.25, 0.15, 0.2]))]
        batch, channels = self._rows(self._samples(length))
        return {**self._types(fixed), "mode": self._word("mode"), "L": length, "K": taps, "B": batch, "H": channels,
                "pregate": self._maybe("pregate"), "postgate": self._maybe("postgate")}

    def _short(self, fixed):
        length = fixed.get("L") or (self._of_any_scale(64) if self.number % 6 == 5 and not self.lengths
                                    else self._length(0.25))
        batch, channels = self._rows(self._samples(length))
        taps = int(self.random.integers(2, 6)) if self.random.random() < 0.6 else self._of_any_scale(256, 2)
        return {**self._types(fixed), "padding": self._word("padding"), "K": taps, "L": length, "B": batch,
                "H": channels, "bias": self._maybe("bias", 0.5), "pregate": self._maybe("pregate"),
                "postgate": self._maybe("postgate"), "channelslast": self._maybe("channelslast")}

    def _state(self, fixed):
        length = fixed.get("L") or self._length(0.33)
        batch, channels = self._rows(min(30, self._samples(length)))
        return {**self._types(fixed), "S": self._of_any_scale(16), "L": length, "B": batch, "H": channels,
                "initial": self._maybe("initial", 0.5), "final": self._maybe("final", 0.5)}

    def _layer(self, fixed):
        axes = len(fixed["L"]) if "L" in fixed else 1 + (self.random.random() < 0.4)
        lengths = fixed.get("L") or tuple(int(self.random.choice(self.lengths)) if self.lengths else
                                          int(self.random.integers(2, 40 if axes > 1 else 200)) for _ in range(axes))
        dtype = fixed.get("dtype") or self.random.choice(self.dtypes).item()
        fields = {"dtype": dtype, "L": lengths,
                  "B": int(self.random.integers(1, 6)),
                  "C": tuple(int(self.random.integers(1, 7)) for _ in range(2)),
                  "complex": dtype in ("f32", "f64") and self._maybe("complex"), "shared": self._maybe("shared"),
                  "channelmajor": self._maybe("channelmajor"), "adjoint": self._maybe("adjoint")}
        is_complex = fixed.get("complex", fields["complex"])
        fields["twosided"] = (is_complex or axes > 1) and self._maybe("twosided")
        two_sided = fixed.get("twosided", fields["twosided"])
        half = [not is_complex and axis == axes - 1 for axis in range(axes)]
        most = [length // 2 + 1 if is_half else max(1, length // 2) if two_sided else length
                for length, is_half in zip(lengths, half)]
        fields["M"] = tuple(int(self.random.integers(1, each + 1)) for each in most)
        return fields
