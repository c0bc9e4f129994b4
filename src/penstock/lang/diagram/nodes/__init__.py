"""The node types of a diagram, one line each."""

from __future__ import annotations

from penstock.lang.diagram.nodes.api_job import API_JOB
from penstock.lang.diagram.nodes.code_job import CODE_JOB
from penstock.lang.diagram.nodes.condition import CONDITION
from penstock.lang.diagram.nodes.contract import NodeType
from penstock.lang.diagram.nodes.db import DB
from penstock.lang.diagram.nodes.endpoint import ENDPOINT
from penstock.lang.diagram.nodes.handler import handler_type
from penstock.lang.diagram.nodes.person_job import PERSON_JOB
from penstock.lang.diagram.nodes.start import START
from penstock.lang.diagram.nodes.sub_diagram import SUB_DIAGRAM
from penstock.lang.diagram.nodes.template_job import TEMPLATE_JOB
from penstock.lang.diagram.nodes.user_response import USER_RESPONSE

NODE_TYPES: dict[str, NodeType] = {
    "start": START,
    "person_job": PERSON_JOB,
    "condition": CONDITION,
    "code_job": CODE_JOB,
    "api_job": API_JOB,
    "db": DB,
    "user_response": USER_RESPONSE,
    "template_job": TEMPLATE_JOB,
    "sub_diagram": SUB_DIAGRAM,
    "endpoint": ENDPOINT,
}

__all__ = ["NODE_TYPES", "NodeType", "handler_type"]
