"""Pictures inside of records: values of bytes features that begin as a picture does, checked like files.

Covers: JPEG, PNG, GIF, BMP and WebP in Examples and SequenceExamples; the faults of each with its record and feature. A JPEG
that is perfect at the native walk does not come here at all. What breaks is damage in a feature that holds pictures, and
odd in one that mostly holds something else: bytes may begin like a picture by chance.
Does not cover: pictures without a mark at their beginning (raw pixels, compressed once more), TIFF and AVIF, values of records
that are no Examples.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from functools import partial

from crashcart.probe.file_content import Faults
from crashcart.probe.file_guarded import guarded
from crashcart.probe.file_image import check_picture
from crashcart.probe.file_native import MOST_FEATURES
from crashcart.probe.file_schema import FeatureSeen, Schema
from crashcart.probe.file_signature import picture_format
from crashcart.sound import DAMAGE, ODD, Fault, Wanted

_FEW = 10
"""One value in so many that is no picture is told: a page in place of a photograph. Where there are more, both are meant."""
_OTHERS = "another feature"


class RecordPictures:
    """What was found in the pictures of one file, by feature."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._found: dict[str, Faults] = {}
        self._stopped: BaseException | None = None

    def see(self, record: int, feature: bytes, data: bytes) -> None:
        """Check one value, where it is a picture."""
        format = picture_format(data)
        if format is None:
            return
        faults = Faults()
        guarded(format, faults, partial(check_picture, format, data, faults, self._wanted))
        for fault in faults.all():
            name = feature.decode("utf-8", "backslashreplace")
            kept = name if name in self._found or len(self._found) < MOST_FEATURES else _OTHERS
            place = f"record {record}, feature {name!r}"
            where = place if fault.where is None else f"{place}, {fault.where}"
            found = self._found.setdefault(kept, Faults())
            found.add(fault.kind, fault.detail, where, fault.weight, fault.count)

    def see_at(self, record: int, data: int, data_bytes: int, name: int, name_bytes: int) -> None:
        """The same of addresses and lengths, called out of native code: what it raises waits for `go_on`."""
        if self._stopped is None:
            try:
                self.see(record, ctypes.string_at(name, name_bytes), ctypes.string_at(data, data_bytes))
            except BaseException as error:  # native code has no way to pass it on
                self._stopped = error

    def go_on(self) -> None:
        """Raise what came up inside of native code."""
        if self._stopped is not None:
            raise self._stopped

    def judge(self, schema: Schema, faults: Faults) -> None:
        """Tell what was found, feature by feature."""
        known = {feature.name: feature for feature in schema.features}
        for name, found in self._found.items():
            feature = known.get(name)
            meant = feature is not None and feature.pictures * 2 >= feature.filled
            every = found.all()
            faults.take(every if meant else tuple(_lighter(fault) for fault in every))
        for feature in schema.features:
            _others(feature, faults)


def _lighter(fault: Fault) -> Fault:
    return replace(fault, weight=ODD) if fault.weight == DAMAGE else fault


def _others(feature: FeatureSeen, faults: Faults) -> None:
    """A few values among pictures that are none."""
    plain = feature.filled - feature.pictures
    if plain and plain * _FEW <= feature.filled and feature.first_plain is not None:
        detail = f"{plain} of {feature.filled} values of feature {feature.name!r} do not begin as a picture does, the others do"
        faults.add("schema-drift", detail, f"record {feature.first_plain}", ODD, plain)
