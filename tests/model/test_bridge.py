"""Nets of the model become nets of the product, and nothing gets lost on the way."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.net import model as product
from penstock.net.codec import decode, encode
from tests.model import net as model
from tests.model.bridge import NoText, to_product
from tests.model.random_nets import arbitrary, dag, input_bit, spice, structured
from tests.model.settings import TRY

GENERATORS = [lambda seed: dag(seed, 8), structured, spice, arbitrary]


@TRY
@given(st.integers(0, 10**9), st.sampled_from(GENERATORS))
def test_random_nets_are_nets_of_the_product(seed, generate):
    net = to_product(generate(seed))
    assert decode(encode(net)) == net  # decode checks the type of every field


def test_a_default_edge_has_no_guard():
    edge = model.Edge("e", "a", "b", guard=model.DEFAULT)
    assert to_product(model.Net((model.Node("a"), model.Node("b")), (edge,))).edges[0].default


def test_an_expression_without_text_is_refused():
    net = model.Net((model.Node("a", "task", arg=lambda view: 1),), ())
    with pytest.raises(NoText, match="arg of a"):
        to_product(net)


def test_text_and_function_go_together():
    bit = input_bit(3)
    assert bit.text == "input[3]"
    assert bit({"input": [False, False, False, True]}) is True


ELSEWHERE = {  # fields of the model that the product keeps under another name
    "Node": {"effect", "arg", "join_timeout"}
    | {"agent", "approve", "approve_if", "quorum", "all_of", "candidates", "modes"},
    "Edge": {"ttl"},
    "Retry": {"base", "cap", "delays"},
    "Poll": {"every"},
    "Trigger": {"after", "repeat"},
    "Body": {"timeout"},
    "Net": {"retry_run", "active_ms", "tracks"},
    "Join": set(),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_every_field_of_the_model_has_a_place_in_the_product(name):
    ours = {f.name for f in fields(getattr(model, name))} - ELSEWHERE[name]
    assert ours <= set(getattr(product, name).__struct_fields__)
