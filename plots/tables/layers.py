"""How long spectral layers take, here and by others."""

from measurements import age_words, by_case_and_device, by_device, passed, us
from report import Table
from results import case_fields
from style import DTYPE

COLUMNS = ["B", "floor", "burst", "× floor", "sustained", "predicted", "cuFFT + cuBLAS, fp32", "TF32", "TurboFNO",
           "its cuBLAS, TF32", "faster of TurboFNO and TF32, over ours", "TurboFNO over TF32 (published: 1.67)", "error / bound", "notes"]
TF32, FP32, FP16, BF16 = "TF32", DTYPE["f32"], DTYPE["f16"], DTYPE["bf16"]
OTHERS = (FP32, FP16, BF16)
TYPE_COLUMNS = ["layer", "B", "floor", "TF32", "× floor", *(title for name in OTHERS for title in (name, "over TF32"))]
GRADIENT_COLUMNS = ["layer", "B", "floor", "burst", "× floor", "sustained", "over the layer's", "error / bound", "notes"]


def times(rows, layers, predicted):
    """A block for each device, type, length and channels; a line for each batch."""
    lines, heading, beaten, compared = [], None, 0, 0
    foreseen = by_case_and_device(predicted.rows)
    for case, methods in (each for own in by_device(rows).values() for each in cases(own).items()):
        any_row = next(iter(methods.values()))
        here = f"{any_row['device']['name']}: {arithmetic(case)}, {shape(case)[0]}"
        if here != heading:
            heading = here
            lines.append([heading])
        peer = layers.of(any_row)
        line, over = cells(case, methods, peer, foreseen.get((case, any_row["device"]["name"])))
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


def arithmetic(case):
    fields = case_fields(case)
    return TF32 if fields["tf32"] else DTYPE[fields["dtype"]]


def shape(case):
    """The layer without its arithmetic, in words, and its batch."""
    fields = case_fields(case)

    def by(numbers):
        return " x ".join(map(str, numbers))
    kind = "complex" if fields["complex"] else "real"
    sides = " of both sides" if fields["twosided"] else ""
    weights = "" if fields["shared"] else ", a matrix for each frequency"
    return (f"{len(fields['lengths'])}-D, {kind}, {by(fields['lengths'])} points, {by(fields['modes'])} kept{sides}, "
            f"{fields['channels'][0]} to {fields['channels'][1]} channels{weights}", fields["b"])


def types(rows):
    """A line for each layer that was timed in TF32 and in another arithmetic, by device."""
    lines, over = [], {name: [] for name in OTHERS}
    for device, own in by_device(rows).items():
        layers = {}
        for case, methods in cases(own).items():
            if median(methods.get("kernel")):
                layers.setdefault(without_arithmetic(case), {})[arithmetic(case)] = methods["kernel"]
        compared = [kernels for kernels in layers.values() if TF32 in kernels and len(kernels) > 1]
        lines += [[device]] if compared else []
        for kernels in compared:
            row = kernels[TF32]
            line = [*shape(row["case"]), *of_kernel(row["floor"]["us"], row)[:3]]
            for name in OTHERS:
                other = median(kernels.get(name))
                times_tf32 = other / us(row) if other else None
                line += [number(other), f"{times_tf32:.2f}" if other else ""]
                over[name] += [times_tf32] if other else []
            lines.append(line)
    said = [f"{name} takes {min(found):.2f} to {max(found):.2f} times as long"
            for name, found in over.items() if found]
    return Table(TYPE_COLUMNS, lines, verdict=f"Against TF32, {', '.join(said)}." if said else "Only TF32 was timed.")


def without_arithmetic(case):
    """What is asked in one arithmetic as in another."""
    return tuple((name, value) for name, value in case_fields(case).items() if name not in ("dtype", "tf32", "gates"))


def gradients(rows, forward):
    """A line for the gradients of each layer, by device, beside the layer itself."""
    lines, floors, layers = [], [], by_device(forward.rows)
    for device, own in by_device(rows).items():
        lines.append([device])
        forwards = cases(layers.get(device, []))
        for case, methods in cases(own).items():
            kernel, floor = methods.get("kernel"), next(iter(methods.values()))["floor"]["us"]
            took = median(kernel)
            layer = median(forwards.get(case.replace("spectralgrad", "spectral", 1), {}).get("kernel"))
            floors += [took / floor] if took else []
            lines.append([*shape(case), *of_kernel(floor, kernel), f"{took / layer:.2f}" if took and layer else "",
                          clearance(kernel), "; ".join(notes(methods))])
    verdict = f"{len(floors)} gradients take {min(floors):.2f} to {max(floors):.2f} floors." if floors else "None was right."
    return Table(GRADIENT_COLUMNS, lines, verdict=verdict, good=bool(floors))


def gain(methods, peer):
    """How many times as fast as the faster of TurboFNO and the TF32 pipeline, measured here where it was."""
    kernel, pipeline = (median(methods.get(name)) for name in ("kernel", "cufft_cublas_tf32"))
    rivals = [pipeline, *([peer.turbofno_us, peer.base_tf32_us] if peer else [])]
    return min(filter(None, rivals)) / kernel if kernel and any(rivals) else None


def cells(case, methods, peer, foreseen):
    kernel, floor = methods.get("kernel"), next(iter(methods.values()))["floor"]["us"]
    over, baseline = gain(methods, peer) if case_fields(case)["tf32"] else None, median(methods.get("cufft_cublas_tf32"))
    said = notes(methods) + ([f"TurboFNO's variant {peer.variant}"] if peer else [])
    line = [case_fields(case)["b"], *of_kernel(floor, kernel), number(foreseen), number(median(methods.get("cufft_cublas_f32"))),
            number(baseline), number(peer and peer.turbofno_us), number(peer and peer.base_tf32_us), f"{over:.2f}" if over else "",
            f"{peer.base_tf32_us / peer.turbofno_us:.2f}" if peer else "",
            clearance(kernel), "; ".join(said)]
    return line, over


def of_kernel(floor, kernel):
    """The floor, and of a kernel's row that was right its burst, that over the floor, and its time under sustained load."""
    burst = median(kernel)
    sustained = kernel["time_us"].get("sustained_cold", {}).get("median") if burst else None
    return [number(floor), number(burst), f"{burst / floor:.2f}" if burst else "", number(sustained)]


def clearance(kernel):
    return f"{kernel['verify']['clearance']:.2f}" if median(kernel) else ""


def notes(methods):
    return [f"{method}: {row['verify'].get('reason', row['verify']['status'])}" for method, row in methods.items()
            if not passed(row)] + list(filter(None, [age_words(methods.values())]))


def median(row):
    return us(row) if row and passed(row) else None


def number(value):
    return "" if value is None else f"{value:.{2 if value < 10 else 1 if value < 1000 else 0}f}"
