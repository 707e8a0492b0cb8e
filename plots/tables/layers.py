"""How long spectral layers take, here and by others."""

from measurements import by_device, passed, us
from report import Table
from results import case_fields
from style import DTYPE

COLUMNS = ["B", "floor", "burst", "× floor", "sustained", "cuFFT + cuBLAS, fp32", "TF32", "TurboFNO", "its cuBLAS, TF32",
           "faster of TurboFNO and TF32, over ours", "TurboFNO over TF32 (published: 1.67)", "error / bound", "notes"]


def times(rows, layers):
    """A block for each device, type, length and channels; a line for each batch."""
    lines, heading, beaten, compared = [], None, 0, 0
    for case, methods in (each for own in by_device(rows).values() for each in cases(own).items()):
        any_row = next(iter(methods.values()))
        here = f"{any_row['device']['name']}: {words(case)}"
        if here != heading:
            heading = here
            lines.append([heading])
        peer = layers.of(any_row)
        line, over = cells(case, methods, peer)
        lines.append(line)
        if peer and over:
            compared += 1
            beaten += over >= 1
    return Table(COLUMNS, lines, verdict=f"Faster than TurboFNO and than the TF32 pipeline in {beaten} of {compared} "
                 "layers that all of them were timed on.", good=beaten == compared)


def cases(rows):
    """{case: {method: row}} of a device, by axes, type, length, channels and batch."""
    found = {}
    for row in sorted(rows, key=lambda row: place(row["case"])):
        found.setdefault(row["case"], {})[row["method"]] = row
    return found


def place(case):
    fields = case_fields(case)
    return (len(fields["lengths"]), fields["dtype"], not fields["tf32"], fields["lengths"], fields["channels"],
            fields["modes"], fields["b"], case)


def words(case):
    fields = case_fields(case)

    def by(numbers):
        return " x ".join(map(str, numbers))
    arithmetic = "TF32" if fields["tf32"] else DTYPE[fields["dtype"]]
    kind = "complex" if fields["complex"] else "real"
    weights = "" if fields["shared"] else ", a matrix for each frequency"
    return (f"{len(fields['lengths'])}-D, {arithmetic}, {kind}, {by(fields['lengths'])} points, {by(fields['modes'])} "
            f"kept, {fields['channels'][0]} to {fields['channels'][1]} channels{weights}")


def gain(methods, peer):
    """How many times as fast as the faster of TurboFNO and the TF32 pipeline, measured here where it was."""
    kernel, pipeline = (median(methods.get(name)) for name in ("kernel", "cufft_cublas_tf32"))
    rivals = [pipeline, *([peer.turbofno_us, peer.base_tf32_us] if peer else [])]
    return min(filter(None, rivals)) / kernel if kernel and any(rivals) else None


def cells(case, methods, peer):
    any_row, kernel = next(iter(methods.values())), methods.get("kernel")
    floor, burst = any_row["floor"]["us"], median(kernel)
    sustained = kernel["time_us"].get("sustained_cold", {}).get("median") if burst else None
    over, baseline = gain(methods, peer), median(methods.get("cufft_cublas_tf32"))
    notes = [f"{method}: {row['verify'].get('reason', row['verify']['status'])}" for method, row in methods.items()
             if not passed(row)]
    notes += ["stale"] * any(row["stale"] for row in methods.values())
    notes += [f"TurboFNO's variant {peer.variant}"] if peer else []
    line = [case_fields(case)["b"], number(floor), number(burst), f"{burst / floor:.2f}" if burst else "",
            number(sustained), number(median(methods.get("cufft_cublas_f32"))), number(baseline),
            number(peer and peer.turbofno_us), number(peer and peer.base_tf32_us), f"{over:.2f}" if over else "",
            f"{(baseline or peer.base_tf32_us) / peer.turbofno_us:.2f}" if peer else "",
            f"{kernel['verify']['clearance']:.2f}" if burst else "", "; ".join(notes)]
    return line, over


def median(row):
    return us(row) if row and passed(row) else None


def number(value):
    return "" if value is None else f"{value:.{2 if value < 10 else 1 if value < 1000 else 0}f}"
