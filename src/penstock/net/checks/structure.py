"""Checks that the net is well formed: ids, ends of edges, scopes, links, ports, fields that a kind needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from penstock.errors import Finding
from penstock.net.analysis import ERROR, WARNING, NetAnalysis
from penstock.net.graph import reachable
from penstock.net.model import Node


def duplicate_ids(analysis: NetAnalysis) -> Iterator[Finding]:
    for what, things in (("nodes", analysis.net.nodes), ("edges", analysis.net.edges)):
        for id, count in Counter(thing.id for thing in things).items():
            if count > 1:
                hint = "Give each its own id."
                yield analysis.finding("duplicate_id", ERROR, f"{count} {what} have the id «{id}».", hint, id, id)


def dangling_edges(analysis: NetAnalysis) -> Iterator[Finding]:
    known = analysis.graph.number
    for edge in analysis.net.edges:
        for end, word in ((edge.src, "comes from"), (edge.dst, "leads to")):
            if end not in known:
                message = f"The connection «{edge.id}» {word} «{end}», which does not exist."
                hint = "Correct the name, or remove the connection."
                yield analysis.finding("dangling_edge", ERROR, message, hint, edge.src, edge.id)


def scopes(analysis: NetAnalysis) -> Iterator[Finding]:
    nodes, number = analysis.net.nodes, analysis.graph.number
    grounded = {""}
    for v, node in enumerate(nodes):
        path: dict[str, None] = {}
        scope = node.scope
        while scope not in grounded and scope not in path:
            path[scope] = None
            scope = nodes[number[scope]].scope if scope in number else ""
        if scope in path:
            message = f"The scope «{scope}» lies inside itself."
            yield analysis.finding("unknown_scope", ERROR, message, "Take one of them out of the other.", scope)
        grounded.update(path)
        if node.scope and (node.scope not in number or nodes[number[node.scope]].kind != "scope"):
            message = f"{analysis.name(v)} lies in the scope «{node.scope}», which is not a scope of this net."
            hint = "Put it into an existing scope, or leave the scope empty."
            yield analysis.finding("unknown_scope", ERROR, message, hint, node.id)


def crossings(analysis: NetAnalysis) -> Iterator[Finding]:
    for edge, a, b in zip(analysis.graph.edges, analysis.graph.src, analysis.graph.dst, strict=True):
        if analysis.net.nodes[a].scope != analysis.net.nodes[b].scope:
            message = f"The connection from {analysis.name(a)} to {analysis.name(b)} crosses the border of a scope."
            hint = "Connect to the scope itself: a scope is entered and left as one."
            yield analysis.finding("crossing_scope", ERROR, message, hint, edge.src, edge.id)


def entries(analysis: NetAnalysis) -> Iterator[Finding]:
    nodes, number = analysis.net.nodes, analysis.graph.number
    for v, node in enumerate(nodes):
        if node.body is None:
            continue
        branches = [(f"The branch «{b.key}» of {analysis.name(v)}", b.entry) for b in node.body.branches]
        for who, entry in branches if node.body.mode == "branches" else [(analysis.name(v), node.body.entry)]:
            if entry not in number or nodes[number[entry]].scope != node.id:
                message = f"{who} begins at «{entry}», which is not inside it."
                hint = "Name a node that lies in this scope."
                yield analysis.finding("unknown_entry", ERROR, message, hint, node.id)


def undo_links(analysis: NetAnalysis) -> Iterator[Finding]:
    for v, node in enumerate(analysis.net.nodes):
        for target in (*node.undo, *node.only):
            if target not in analysis.graph.number:
                message = f"{analysis.name(v)} names «{target}» to be undone, which does not exist."
                yield analysis.finding("unknown_undo", ERROR, message, "Correct the name, or remove the link.", node.id)


def parts(analysis: NetAnalysis) -> Iterator[Finding]:
    for v, node in enumerate(analysis.net.nodes):
        for missing in _missing(node):
            message = f"{analysis.name(v)} is a {node.kind} without {missing}."
            yield analysis.finding("incomplete_node", ERROR, message, f"Give it {missing}.", node.id)


def _missing(node: Node) -> Iterator[str]:
    if node.kind in ("task", "call") and node.effect is None:
        yield "an effect"
    if node.kind == "wait" and not node.triggers:
        yield "anything to wait for"
    if any(trigger.kind == "condition" and trigger.match is None for trigger in node.triggers):
        yield "a condition to wait for"
    if node.kind == "scope":
        if node.body is None:
            yield "a body"
        elif node.body.mode == "loop" and node.body.again is None:
            yield "a condition for the next round"
        elif node.body.mode in ("each", "each_seq") and node.body.items is None:
            yield "items"
        elif node.body.mode == "branches" and not node.body.branches:
            yield "branches"


def pools(analysis: NetAnalysis) -> Iterator[Finding]:
    """A node that waits for a place that nobody has would wait for ever."""
    known = analysis.net.pools
    for v, node in enumerate(analysis.net.nodes):
        pool = known.get(node.pool)
        if not node.pool:
            continue
        if pool is None or not pool.places:
            message = f"{analysis.name(v)} works in the pool «{node.pool}», which has no places."
            yield analysis.finding("unknown_pool", ERROR, message, "Declare the pool and its places.", node.id)
        elif node.place and node.place not in pool.places:
            message = f"{analysis.name(v)} works in «{node.place}», which is no place of the pool «{node.pool}»."
            yield analysis.finding("unknown_place", ERROR, message, "Name one of its places, or none.", node.id)


def ports(analysis: NetAnalysis) -> Iterator[Finding]:
    graph = analysis.graph
    for v, node in enumerate(analysis.net.nodes):
        used = {graph.edges[e].port for e in graph.outs[v]}
        if node.triggers and not (node.kind == "wait" and not used):
            for trigger in node.triggers:
                leaves = trigger.action == "port" or trigger.action == "value" and trigger.port != "done"
                if leaves and trigger.port not in used:
                    message = (
                        f"When the {trigger.kind} of {analysis.name(v)} comes, nothing leaves by «{trigger.port}»."
                    )
                    hint = "Draw a connection from this port, or remove the trigger."
                    yield analysis.finding("trigger_without_edge", WARNING, message, hint, node.id)
        for row in node.on_error:
            if row.action.startswith(("port:", "park:")) and row.action[5:] not in used:
                message = (
                    f"A failure «{row.match}» of {analysis.name(v)} is sent to «{row.action[5:]}», where no way leaves."
                )
                hint = "Draw a connection from this port; without one the failure is lost."
                yield analysis.finding("error_port_without_edge", WARNING, message, hint, node.id)


def starts(analysis: NetAnalysis) -> Iterator[Finding]:
    nodes, graph = analysis.net.nodes, analysis.graph
    if not any(not graph.ins[v] and not node.scope and not node.off_path for v, node in enumerate(nodes)):
        message = "Nothing can start: every node waits for another one." if nodes else "There is nothing to run."
        hint = "Add a start, or leave one node without ways in."
        yield analysis.finding("no_start", ERROR, message, hint, nodes[0].id if nodes else "")


def unreachable(analysis: NetAnalysis) -> Iterator[Finding]:
    nodes, graph = analysis.net.nodes, analysis.graph
    named = {id for node in nodes for id in node.undo}
    for node in nodes:
        if node.body is not None:
            named |= {node.body.entry, *(b.entry for b in node.body.branches)}
    begin = [
        v
        for v, node in enumerate(nodes)
        if node.id in named or (not graph.ins[v] and not node.scope and not node.off_path)
    ]
    for v, seen in enumerate(reachable(len(nodes), graph.succ, begin)):
        if not seen:
            message = f"{analysis.name(v)} can never run: nothing leads to it."
            hint = "Connect it, or remove it."
            yield analysis.finding("unreachable_node", WARNING, message, hint, nodes[v].id)


STRUCTURE = (duplicate_ids, dangling_edges, scopes, crossings, entries, undo_links, parts, pools, ports, starts)
