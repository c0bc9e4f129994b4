"""A node type of one's own: a class in the diagrams' handler pattern, and a diagram that uses it."""

from penstock import Blocking
from penstock.diagram import EnvelopeFactory, NodeHandler, context, register_handler


@register_handler("shout")
class Shout(NodeHandler):
    """`props` are the fields the author wrote; `inputs` the newest envelope per connection, by its label."""

    def execute_with_envelopes(self, request, inputs):
        text = inputs["default"].as_text().upper() + "!" * request.props.get("marks", 1)
        return EnvelopeFactory.create(text, metadata={"iteration": context.iteration})


DIAGRAM = b"""
version: light
nodes:
  - {label: Start, type: start, data: water comes down}
  - {label: Louder, type: shout, marks: 3}
  - {label: Result, type: endpoint}
connections:
  - {from: Start, to: Louder}
  - {from: Louder, to: Result}
"""

with Blocking("runs.db") as penstock:
    print(penstock.wait(penstock.start(penstock.release(DIAGRAM))).output)

# Prints:
# > {'Result': 'WATER COMES DOWN!!!'}
