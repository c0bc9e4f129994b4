"""notify: settings merged from four places, texts from registered templates, and the local outbox."""

from __future__ import annotations

import pytest

from penstock.executors.parts.notification import merged_settings
from tests.executors.bench import as_json
from tests.executors.notifying import KEY, MARK, PostDesk, secret

TYPES = ("slack", "email", "sms", "webhook", "robot", "database", "pagerduty")


@pytest.fixture
def desk(tmp_path):
    return PostDesk(tmp_path)


@pytest.fixture
def kept(desk):
    desk.put("channel", "slack", {"webhook_url": "outbox:slack"})
    return desk


def test_later_settings_win():
    """C-27: tenant's defaults ◂ template's channel_config ◂ flat config ◂ config[type]."""
    defaults = {"a": "default", "b": "default", "c": "default", "d": "default"}
    template = {"b": "template", "c": "template", "d": "template"}
    own = {"c": "flat", "d": "flat", "slack": {"d": "nested"}, "email": {"a": "of another channel"}}
    assert merged_settings("slack", TYPES, defaults, template, own) == {
        "a": "default", "b": "template", "c": "flat", "d": "nested",
    }  # fmt: skip


def test_null_is_no_setting():
    assert merged_settings("slack", TYPES, {"channel": "#a"}, {"channel": None, "slack": {"channel": None}}) == {
        "channel": "#a"
    }


def test_the_four_places_meet_in_one_delivery(kept):
    """C-27, W-4.5.5: each place gives one setting, and the message says so."""
    kept.put("template", "alert", {"body": "b", "channel_config": {"channel": "#template", "mention": ["@t"]}})
    args = {"channel": "slack", "template": {"id": "alert"}}
    kept.sent({**args, "config": {"mention": ["@flat"], "slack": {"attachments": [{"text": "n"}]}}})
    (_, channel, target, message, run), *_ = kept.tenant.kept
    assert (channel, target, run) == ("slack", "outbox:slack", "r")
    assert message["channel"] == "#template"
    assert message["text"] == "@flat b"
    assert message["attachments"] == [{"text": "n"}]


@pytest.mark.parametrize(
    ("channel", "config", "missing"),
    [
        ("slack", {}, ["webhook_url"]),
        ("email", {"subject": ""}, ["to", "subject"]),
        ("email", {"to": [], "subject": "s"}, ["to"]),
        ("sms", {}, ["to", "message"]),
        ("webhook", {}, ["url"]),
        ("robot", {"command": "stop"}, ["robot_id"]),
        ("database", {"table": "t"}, ["operation"]),
        ("pagerduty", {}, ["routing_key"]),
        ("slack", {"webhook_url": "outbox:x"}, ["message"]),
    ],
)
def test_what_is_missing_is_named(desk, channel, config, missing):
    """W-4.5.4: a required setting that nobody has given."""
    failure = desk.refused({"channel": channel, "config": config})
    assert (failure.code, failure.category) == ("CHANNEL_CONFIG_MISSING", "validation")
    assert failure.detail == {"channel": channel, "missing": missing}
    assert all(f"«{name}»" in failure.message or name == "message" for name in missing)


def test_an_unknown_channel_is_refused(desk):
    failure = desk.refused({"channel": "pigeon"})
    assert failure.code == "INPUT_INVALID"
    assert "slack" in failure.message


def test_parameters_stand_before_the_names_of_the_run(kept):
    """C-55: params as locals over the whole context; the same language as everywhere."""
    kept.names = {"input": {"line_id": "L01"}, "severity": "of the run", "rows": [{"rate": 0.07}]}
    body = "[${severity}] ${input.line_id}: ${fn.round(rows[0].rate * 100, 1)} %"
    kept.put("template", "defect_alert_v2", {"body": body})
    kept.sent({"channel": "slack", "template": {"id": "defect_alert_v2", "params": {"severity": "critical"}}})
    assert kept.tenant.kept[0][3]["text"] == "[critical] L01: 7.0 %"


def test_data_is_not_rendered_again(kept):
    kept.names = {"word": "${secrets.token} ${input.x} {{word}}"}
    kept.tenant.secrets["token"] = "never-to-be-seen"
    kept.put("template", "echo", {"body": "<${word}>"})
    kept.sent({"channel": "slack", "template": "echo"})
    assert kept.tenant.kept[0][3]["text"] == "<${secrets.token} ${input.x} {{word}}>"


def test_an_unknown_template(kept):
    """C-55."""
    failure = kept.refused({"channel": "slack", "template": {"id": "nobody"}})
    assert (failure.code, failure.category) == ("TEMPLATE_NOT_FOUND", "validation")
    assert "«nobody»" in failure.message


def test_parameters_are_checked(kept):
    """C-55: params_schema."""
    schema = {"type": "object", "required": ["rate"], "properties": {"rate": {"type": "number"}}}
    kept.put("template", "alert", {"body": "${rate}", "params_schema": schema})
    kept.sent({"channel": "slack", "template": {"id": "alert", "params": {"rate": 0.5}}})
    failure = kept.refused({"channel": "slack", "template": {"id": "alert", "params": {"rate": "much"}}})
    assert (failure.code, failure.category, failure.detail["pointer"]) == ("INPUT_INVALID", "validation", "/rate")
    assert len(kept.tenant.kept) == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("${nobody.knows}", "UNKNOWN_VARIABLE"),
        ("${1 +}", "EXPR_SYNTAX"),
        ("${1 / 0}", "EXPR_DIV_ZERO"),
        ("${'a' - 1}", "EXPR_TYPE"),
    ],
)
def test_a_template_that_cannot_be_rendered(kept, body, code):
    """C-55, C-80."""
    kept.put("template", "wrong", {"body": body})
    failure = kept.refused({"channel": "slack", "template": "wrong"})
    assert (failure.code, failure.category) == (code, "validation")
    assert kept.tenant.kept == []


def test_a_template_of_another_channel_keeps_its_flat_settings(kept):
    """C-27: one template for several channels; what it sets for one is not meant for another."""
    config = {"channel": "#flat", "email": {"to": "a@example.com"}, "slack": {"mention": "@nested"}}
    kept.put("template", "both", {"channel": "email", "subject": "s", "body": "b", "channel_config": config})
    kept.sent({"channel": "slack", "template": "both"})
    assert kept.tenant.kept[0][3] == {"text": "@nested b", "link_names": True}


@pytest.mark.parametrize(
    "template",
    [
        {"body": "token ${secrets.token}"},
        {"body": "b", "subject": "${secrets.token}"},
        {"body": {"deep": ["${secrets.token}"]}},
        {"body": "${fn.map(rows, 'secrets.token')}"},
    ],
)
def test_a_template_that_asks_for_a_secret_is_refused(kept, template):
    """C-55, C-63: secrets stand in channel settings only."""
    kept.tenant.secrets["token"] = "never-to-be-seen"
    kept.names = {"secrets": {"token": secret("token")}, "rows": [1]}
    kept.put("template", "greedy", template)
    failure = kept.refused({"channel": "slack", "template": "greedy"})
    assert (failure.code, failure.category) == ("SECRET_NOT_ALLOWED", "validation")
    assert "never-to-be-seen" not in repr(failure)
    assert kept.tenant.kept == []


@pytest.mark.parametrize(
    "text",
    ["${secrets[word]}", "${fn.get_secret(word)}", "x ${secrets[word]}", "${fn.map([word], 'secrets[item]')}"],
)
@pytest.mark.parametrize("layer", ["template", "channel"])
def test_data_cannot_choose_the_secret_of_a_registered_text(kept, layer, text):
    """C-63, C-55: whoever sends the parameters could have any secret of the tenant delivered."""
    kept.tenant.secrets["token"] = "never-to-be-seen"
    config = {"headers": {"A": text}}
    kept.put("template", "greedy", {"body": "b", **({"channel_config": config} if layer == "template" else {})})
    if layer == "channel":
        kept.put("channel", "webhook", {"url": "outbox:x", **config})
    args = {"channel": "webhook", "config": {"url": "outbox:x"}}
    failure = kept.refused({**args, "template": {"id": "greedy", "params": {"word": "token"}}})
    assert (failure.code, failure.category) == ("SECRET_NOT_ALLOWED", "validation")
    assert "never-to-be-seen" not in repr(failure) and kept.tenant.kept == []


@pytest.mark.parametrize(
    "args",
    [
        {"message": f"my {secret('token')}"},
        {"template": {"id": "echo", "params": {"word": secret("token")}}},
        {"config": {"message": secret("token")}},
        {"config": {"attachments": [{"text": secret("token")}]}, "message": "m"},
    ],
)
def test_a_secret_does_not_get_into_a_message(kept, args):
    """C-63: neither through parameters nor through settings that people read."""
    kept.tenant.secrets["token"] = "never-to-be-seen"
    kept.put("template", "echo", {"body": "<${word}>"})
    assert kept.refused({"channel": "slack", **args}).code == "SECRET_NOT_ALLOWED"
    assert kept.tenant.kept == []


def test_a_secret_is_filled_into_settings_of_every_layer(desk, serve):
    """C-63, W-4.5.9: a reference in the registry and one that the kernel has marked."""
    server = serve(lambda seen: as_json({"echo": seen.headers["x-a"] + seen.headers["x-b"]}))
    desk.tenant.secrets |= {"url": server.url + "/hook", "a": "alpha-value", "b": "beta-value"}
    desk.put("channel", "webhook", {"url": "${secrets.url}"})
    headers = {"X-A": secret("a"), "X-B": "${secrets.b} is text here"}
    out = desk.sent({"channel": "webhook", "config": {"headers": headers}, "message": "m"})
    assert server.seen[0].headers["x-a"] == "alpha-value"
    assert server.seen[0].headers["x-b"] == "${secrets.b} is text here"
    assert out["echo"] == "***${secrets.b} is text here"


def test_a_missing_secret(desk):
    """C-63."""
    failure = desk.refused({"channel": "slack", "config": {"webhook_url": secret("absent")}, "message": "m"})
    assert (failure.code, failure.category) == ("SECRET_NOT_FOUND", "authorization")
    assert "«absent»" in failure.message and MARK not in failure.message


@pytest.mark.parametrize(
    ("channel", "config", "holds"),
    [
        ("slack", {"webhook_url": secret("hook")}, {"text": "hello"}),
        ("webhook", {"url": secret("hook")}, {"method": "POST", "body": {"text": "hello"}}),
        ("email", {"to": "a@example.com", "subject": "s", "target": "outbox:x"}, {"subject": "s", "text": "hello"}),
        ("email", {"to": "outbox:x", "subject": "s"}, {"subject": "s", "text": "hello"}),
        ("sms", {"to": "outbox:x"}, {"message": "hello"}),
        ("sms", {"to": "+82 10 1234", "target": "outbox:x"}, {"to": ["+82 10 1234"], "message": "hello"}),
        ("pagerduty", {"routing_key": secret("hook")}, {"event_action": "trigger"}),
        ("robot", {"robot_id": "R1", "command": "stop", "target": "outbox:x"}, {"robot_id": "R1", "command": "stop"}),
        (
            "database",
            {"table": "log", "operation": "insert", "values": {"a": 1}, "target": "outbox:x"},
            {"table": "log", "values": [{"a": 1}]},
        ),
    ],
)
def test_an_outbox_keeps_instead_of_sending(desk, channel, config, holds):
    """C-81, W-4.5.6: the dev profile's channels reach nobody, and the same key is kept once."""
    desk.tenant.secrets["hook"] = "outbox:x"
    desk.put("robot", "R1", {"commands": ["stop"]})
    for _ in range(2):
        out = desk.sent({"channel": channel, "config": config, "message": "hello"})
    delivery = out["_delivery"]
    assert (delivery["channel"], delivery["status"], delivery["status_code"]) == (channel, "kept", None)
    assert delivery["message_id"] and delivery["sent_at"].endswith("Z")
    [(key, kept_channel, target, message, run)] = desk.tenant.kept
    assert (key, kept_channel, target, run) == (KEY, channel, "outbox:x", "r")
    assert {name: message[name] for name in holds} == holds


def test_it_was_sent_when_the_host_says(desk):
    """W-4.5.6: `sent_at` is the host's time, which a test or a replay sets."""
    config = {"webhook_url": "outbox:x"}
    out = desk.sent({"channel": "slack", "config": config, "message": "m"}, at=1_772_413_200_123)
    assert out["_delivery"]["sent_at"] == "2026-03-02T01:00:00.123Z"


def test_what_is_kept_holds_no_secret(desk):
    """C-63, C-81."""
    desk.tenant.secrets["token"] = "never-to-be-seen"
    config = {"url": "outbox:x", "body": {"token": secret("token")}, "headers": {"A": secret("token")}}
    desk.sent({"channel": "webhook", "config": config})
    assert desk.tenant.kept[0][3]["body"] == {"token": "***"}


def test_the_output_is_transformed_and_checked(kept):
    """W-4.5.6: the node's own schema holds for the answer."""
    schema = {"type": "object", "required": ["id"]}
    failure = kept.refused({"channel": "slack", "message": "m", "output": {"schema": schema}})
    assert (failure.code, failure.category) == ("OUTPUT_SCHEMA", "validation")
