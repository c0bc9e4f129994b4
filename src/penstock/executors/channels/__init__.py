"""The channels of a notification: one line each. To add one, add its file and its line."""

from __future__ import annotations

from penstock.executors.channels.contract import Channel
from penstock.executors.channels.database import DatabaseChannel
from penstock.executors.channels.email import EmailChannel
from penstock.executors.channels.pagerduty import PagerDutyChannel
from penstock.executors.channels.robot import RobotChannel
from penstock.executors.channels.slack import SlackChannel
from penstock.executors.channels.sms import SmsChannel
from penstock.executors.channels.webhook import WebhookChannel

CHANNELS: dict[str, Channel] = {
    "database": DatabaseChannel(),
    "email": EmailChannel(),
    "pagerduty": PagerDutyChannel(),
    "robot": RobotChannel(),
    "slack": SlackChannel(),
    "sms": SmsChannel(),
    "webhook": WebhookChannel(),
}
