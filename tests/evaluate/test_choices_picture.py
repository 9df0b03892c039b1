"""The picture of the recodings that a plan chose from."""

from __future__ import annotations

import re

from ppdm_sql.evaluate.curves import draw_choices
from ppdm_sql.methods.plan import PlanChoice


def test_every_recoding_has_its_number_of_the_list_and_equal_ones_share_a_point():
    found = [
        PlanChoice({"age": level}, "loss", value, 0, 100, classes, 10)
        for level, value, classes in ((1, 0.25, 8), (2, 0.25, 8), (3, 0.5, 4))
    ]
    svg = draw_choices("patients_open", found)
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert {"1, 2", "3", "patients_open: the best 3 recodings"} <= set(texts)
    assert any(text.startswith("In the ring: the one that would be published.") for text in texts)
