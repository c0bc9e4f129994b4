"""For people who write node handlers of diagrams (D-X.30): a class in the seed's own pattern runs unmodified."""

from __future__ import annotations

from penstock.executors.handler import (
    Context,
    Envelope,
    EnvelopeFactory,
    Inputs,
    NodeHandler,
    context,
    node_id,
    register_handler,
)

__all__ = ["Context", "Envelope", "EnvelopeFactory", "Inputs", "NodeHandler", "context", "node_id", "register_handler"]
