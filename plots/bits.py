"""Random cases that a GPU and the executor both ran: whether their outputs are the same in every bit."""

DIGITS = 8  # of the digest of a case
LEFT_OUT = "." * DIGITS


def held_to_executor(rows, others):
    """Compares a GPU's random cases with the executor's rows among `others`. Two cases are compared if both ran the
    same kernels and the executor computed all outputs. Returns how many were compared, and a list of (operation, seed,
    number) of the cases whose bits differ."""
    executed = {asked(row): row["digests"] for row in others if is_executor(row) and "digests" in row}
    compared, different = 0, []
    for row in rows:
        if is_executor(row):
            continue
        theirs, ours = executed.get(asked(row), ""), row.get("digests", "")
        for number in range(min(len(ours), len(theirs)) // DIGITS):
            here = slice(DIGITS * number, DIGITS * (number + 1))
            if LEFT_OUT in (ours[here], theirs[here]):
                continue
            compared += 1
            if ours[here] != theirs[here]:
                different.append((operation_of(row), row["seed"], row["first"] + number))
    return compared, different


def is_executor(row):
    return row["device"]["name"].startswith("executor")


def operation_of(row):
    return row.get("operation", "fftconv")


def asked(row):
    """Two rows with the same key ran the same cases by the same kernels and launches."""
    device = row["device"]
    return operation_of(row), row["seed"], row["first"], row["count"], row["code"], device["sm"], device["multiprocessors"]
