"""The node types of a diagram, one line each."""

from __future__ import annotations

from penstock.lang.diagram.nodes.api_job import API_JOB
from penstock.lang.diagram.nodes.code_job import CODE_JOB
from penstock.lang.diagram.nodes.condition import CONDITION
from penstock.lang.diagram.nodes.contract import NodeType
from penstock.lang.diagram.nodes.db import DB
from penstock.lang.diagram.nodes.endpoint import ENDPOINT
from penstock.lang.diagram.nodes.handler import handler_type
from penstock.lang.diagram.nodes.hook import HOOK
from penstock.lang.diagram.nodes.integrated_api import INTEGRATED_API
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
    "hook": HOOK,
    "integrated_api": INTEGRATED_API,
    "endpoint": ENDPOINT,
}
#: Node types of the original that are not here, and what there is instead.
REFUSED: dict[str, str] = {
    "ir_builder": "Build it in a code_job, or register a node type of your own with a handler.",
    "typescript_ast": "Parse the file with a program of yours: a hook of the type shell, or a handler.",
    "diff_patch": "Write the whole file with a db node.",
    "json_schema_validator": "Check the data in a code_job.",
    "person_batch_job": "Call a diagram with the person_job: a sub_diagram with `batch: true`.",
    "notion": "Write `type: integrated_api` and `provider: notion`.",
    "shell_job": "Write `type: hook` and `hook_type: shell`.",
    "job": "Write `type: person_job` or `type: code_job`.",
}

__all__ = ["NODE_TYPES", "REFUSED", "NodeType", "handler_type"]
