"""Firing: tokens are taken, the kind does its work, the firing settles, tokens are put."""

from __future__ import annotations

from typing import Any

from tests.model.net import DEFAULT, Edge, Node
from tests.model.state import ITEM_ENDED, place, token_id


class NoBranch(Exception):
    """A split found no edge and the net does not say that this is an end."""

    def __init__(self, node: str) -> None:
        super().__init__(node)
        self.node = node


class Firing:
    """put, fire, settle; a part of Turn."""

    # ---- tokens
    def put(
        self, edge: Edge, scope: str, epoch: int, value: Any, path: list, passed: dict, of: dict, **meta: Any
    ) -> None:
        """Put a value on an edge; a join that is owed this token absorbs it at once. `of`: the firing that made it, or
        the tokens that it stands for."""
        epoch += edge.raises
        if edge.transform:
            value = edge.transform(self.view(scope, body=value))
        here = place(edge.id, scope, epoch)
        seq = self.state["seqs"].get(here, 0)
        where = {"edge": edge.id, "scope": scope, "epoch": epoch, "seq": seq}
        self.say("put", **where, env=value, meta=meta, path=path, passed=passed, of=of, n=self.state["n"])
        token = f"{here}|{seq}"
        target = place(edge.dst, scope, epoch)
        for visit in sorted(self.state["owed"].get(target, {}), key=int):
            if edge.id in self.state["owed"][target][visit] and passed.get(target, 0) < int(visit):
                owed = {"owed_key": target, "owed_visit": visit}
                self.say("absorbed", tokens=[token], why="late", node=edge.dst, edge=edge.id, **owed)
                return
        if edge.ttl is not None:
            self.set_timer(f"token/{token}", edge.ttl, "ttl", scope=scope, data=token)

    def put_all(
        self, edges: list[Edge], scope: str, epoch: int, value: Any, fork: str, taken: dict, of: dict, **meta: Any
    ) -> None:
        """Put on several edges; more than one begins a fork, and each token carries its branch number."""
        for i, edge in enumerate(edges):
            path = [*taken["path"], *([[fork, i]] if len(edges) > 1 else [])]
            self.put(edge, scope, epoch, value, path, taken["passed"], of, **meta)

    def tokens_gone(self, tokens: list[str]) -> None:
        """A token that is taken needs no ttl timer."""
        for token in tokens:
            if f"token/{token}" in self.state["timers"]:
                self.say("timer.gone", timer=f"token/{token}", why="taken")

    def expire(self, token_name: str) -> None:
        """A ttl ran out: the token goes, and its value leaves by the source's port `dead` if that has edges."""
        token = self.state["tokens"][token_name]
        edge = self.net.edge[token["edge"]]
        self.say("absorbed", tokens=[token_name], why="expired", node=edge.dst, edge=edge.id)
        timer = self.join_timer(edge.dst, token["scope"], token["epoch"])
        if timer in self.state["timers"] and not self.lying_before(edge.dst, token["scope"], token["epoch"]):
            self.say("timer.gone", timer=timer, why="nothing rests")
        dead = [e for e in self.net.outs[edge.src] if e.port == "dead"]
        of = {"tokens": [token_name]}
        self.put_all(dead, token["scope"], token["epoch"], token["env"], f"token/{token_name}", token, of)

    # ---- fire
    def fire(self, node: Node, scope: str, epoch: int, takes: list[dict], **options: Any) -> None:
        """Take the tokens and let the kind begin."""
        fid = self.take(node, scope, epoch, takes, **options)
        rounds = 1 if options.get("comp") is not None else self.rounds(node.id, scope, epoch)
        if max(rounds, epoch) > self.net.max_visits:
            self.fail(fid, {"code": "ITERATION_LIMIT", "category": "permanent"})
            return
        self.arm(fid, node)  # everything is armed first, only then are kept signals looked at
        if fid in self.state["firings"]:
            self.begin(node, fid)

    def take(
        self,
        node: Node,
        scope: str,
        epoch: int,
        takes: list[dict],
        comp: str | None = None,
        path: list | None = None,
        relaxed: bool = False,
    ) -> str:
        """The fact `fired`; returns the firing's id."""
        here = place(node.id, scope, epoch)
        # an undo firing is told apart by the entry it undoes, so that undoing again repeats its key
        visit = self.visits(node.id, scope, epoch) + 1 if comp is None else 1
        fid = f"{node.id}@{scope}~{epoch}#{visit}" + (f"!{comp}" if comp is not None else "")
        passed = merged_passed(takes)
        owed = []
        if node.join.mode == "k" and node.join.late == "absorb" and comp is None:
            got = {t["edge"] for t in takes}
            passed[here] = visit
            others = [e.id for e in self.net.ins[node.id] if e.id not in got]
            owed = [e for e in others if self.can_reach(node.id, e, scope, (here, visit))]
        marks = [place(e.id, scope, epoch) for e in self.net.ins[node.id]] if comp is None else []
        self.say(
            "fired",
            firing=fid,
            node=node.id,
            scope=scope,
            epoch=epoch,
            visit=visit,
            takes=[token_id(t) for t in takes],
            taken=[{name: t[name] for name in ("edge", "env", "meta", "path", "epoch")} for t in takes],
            path=common_path(takes) if path is None else path,
            passed=passed,
            owed=owed,
            dead=[m for m in marks if self.state["dead"].get(m)],
            comp=comp,
            relaxed=relaxed,
            start_used=any(self.net.edge[t["edge"]].role == "start" for t in takes),
            entered=node.join.mode == "diagram" and self.net.is_head(node.id),
        )
        self.tokens_gone([token_id(t) for t in takes])
        if (timer := self.join_timer(node.id, scope, epoch)) in self.state["timers"]:
            self.say("timer.gone", timer=timer, why="fired")
        return fid

    def begin(self, node: Node, fid: str) -> None:
        getattr(self, f"begin_{node.kind}")(node, fid)

    def taken_value(self, fid: str) -> Any:
        takes = self.state["firings"][fid]["takes"]
        return takes[-1]["env"] if takes else None

    def begin_start(self, node: Node, fid: str) -> None:
        self.settle(fid, "done", self.state["input"])

    def begin_route(self, node: Node, fid: str) -> None:
        self.settle(fid, "done", self.taken_value(fid))

    def begin_end(self, node: Node, fid: str) -> None:
        scope = self.state["firings"][fid]["scope"]
        how, _, code = node.ends.partition(":")
        value = self.taken_value(fid)
        if how == "error":
            self.fail(fid, {"code": code, "category": "business"})
        elif how == "cancel":
            self.settle(fid, "done", value)
            self.finish_cancel("now", {"code": code, "category": "business", "node": node.id})
        elif how == "terminate":
            self.settle(fid, "done", None)
            self.sweep(scope, "terminated", keep_scope=True)
        else:
            self.settle(fid, "done", value)
            if how == "escalate":
                self.escalate(scope, node.id, code, value)

    def begin_task(self, node: Node, fid: str) -> None:
        self.ask(fid, self.state["firings"][fid]["attempt"])

    def begin_call(self, node: Node, fid: str) -> None:
        self.ask(fid, self.state["firings"][fid]["attempt"])

    def begin_work(self, node: Node, fid: str, attempt: int = 0) -> None:
        mode = first_mode(node)
        self.say("work.opened", item=fid, firing=fid, level=0, mode=mode)
        self.say("phase", firing=fid, phase="suspended")
        if self.with_agent(fid):
            self.begin_agent(fid, attempt or self.state["firings"][fid]["attempt"])

    def with_agent(self, fid: str) -> bool:
        """Who does it: its mode says so, or the node where items have none."""
        mode = self.state["items"][fid]["mode"]
        return mode != "MANUAL" if mode else self.net.node[self.state["firings"][fid]["node"]].agent

    def begin_agent(self, fid: str, attempt: int) -> None:
        self.say("work.moved", item=fid, to="IN_PROGRESS", by="agent", tried=True)
        self.ask(fid, attempt)

    def begin_wait(self, node: Node, fid: str) -> None:
        self.say("phase", firing=fid, phase="suspended")

    def begin_undo(self, node: Node, fid: str) -> None:
        self.say("phase", firing=fid, phase="undo")
        scope = self.state["firings"][fid]["scope"]
        self.plan_undo("manual", {"firing": fid}, scope=scope, only=node.only)

    def ask(self, fid: str, attempt: int, probe: int = 0) -> None:
        """Ask the world; every attempt and probe of a firing has the same key."""
        firing = self.state["firings"][fid]
        node = self.net.node[firing["node"]]
        extra = {"attempt": attempt}
        if firing["comp"] is not None:
            extra["undone"] = self.state["ledger"][int(firing["comp"])]["output"]
        self.say(
            "effect.asked",
            effect=f"{fid}/a{attempt}" + (f".{probe}" if probe else ""),
            firing=fid,
            attempt=attempt,
            key=f"{self.state['run']}/{fid}",
            kind=node.effect or node.kind,
            arg=node.arg(self.view(firing["scope"], **extra)) if node.arg else None,
            probe=probe,
        )

    # ---- settle
    def close(
        self, fid: str, status: str, output: Any, failure: dict | None = None, port: str = "done", **more: Any
    ) -> None:
        """End a firing with all that hangs on it: its work item, its open children, its undo plan."""
        if self.state["undo"] and self.state["undo"]["then"].get("firing") == fid:
            self.abandon_undo()
        item = self.state["items"].get(fid)
        if item and item["status"] not in ITEM_ENDED:
            lost = "COMPENSATED" if item["status"] == "SUBMITTED" else "CANCELLED"
            self.say("work.moved", item=fid, to="DONE" if status == "done" else lost)
            if status != "done":
                self.skip_draft(fid)
        for scope in self.open_children(fid):
            self.sweep(scope, "closed")
        self.settle(fid, status, output, failure, port, **more)
        gone = [scope for child in self.children(fid) for scope in self.under(child)]
        if gone and not more.get("reopen"):
            self.say("scope.forgotten", scopes=gone)

    def settle(
        self,
        fid: str,
        status: str,
        output: Any,
        failure: dict | None = None,
        port: str = "done",
        reopen: dict | None = None,
        park: bool = False,
    ) -> None:
        """The fact `settled`, and what follows from it: variables, ledger, tokens."""
        firing = self.state["firings"][fid]
        node = self.net.node[firing["node"]]
        scope, epoch = firing["scope"], firing["epoch"]
        undoing = firing["comp"] is not None
        self.disarm(fid)
        view = self.settle_view(firing, node, status, output, failure)
        sets = [(name, expr(view)) for name, expr in node.sets] if status == "done" and not undoing else []
        view.update(sets)
        outs = [] if undoing else [e for e in self.net.outs[node.id] if e.port == port]
        chosen = self.split(node, outs, view)  # before the fact, so that a refusal leaves nothing behind
        if chosen is None:
            raise NoBranch(node.id)
        voted = status == "failed" and output is not None and (node.quorum or node.all_of)  # C-34
        named = node.out if status in ("done", "skipped") or voted else ()
        names = [(name, self.home_of(name, scope)) for name in named]
        self.say(
            "settled",
            firing=fid,
            status=status,
            output=output,
            failure=failure,
            port=port,
            names=[name for name, home in names if home == ""],
            dead=dead_marks(outs, chosen, scope, epoch),
            reopen=reopen,
            park=park,
            seals=node.kind == "call",
            redo=self.kept_of(fid, firing),
        )
        for name, home in names:
            if home:
                self.say("var.set", scope=home, name=name, value=output)
        for name, value in sets:
            self.say("var.set", scope=self.home_of(name, scope), name=name, value=value)
        if undoing:
            self.undo_answer(firing, status, failure)
            return
        if status == "done":
            self.book(fid, firing, node, output)
        self.put_all(chosen, scope, epoch, output, fid, firing, {"firing": fid})

    def settle_view(self, firing: dict, node: Node, status: str, output: Any, failure: dict | None) -> dict:
        """What guards and sets of a settling node see: its own result too."""
        about = {"output": output, "failure": failure, "visit": firing["visit"], "epoch": firing["epoch"]}
        view = self.view(firing["scope"], **about)
        view["nodes"] = {**view["nodes"], node.id: node_view(output, status)}
        view.setdefault(node.id, output)
        view.update(dict.fromkeys(node.out, output))
        return view

    def split(self, node: Node, outs: list[Edge], view: dict) -> list[Edge] | None:
        """The edges that get a token; None when one was needed and there is none."""
        if node.split == "all":
            return [e for e in outs if e.guard is None or e.guard(view)]
        chosen = []
        for edge in outs:
            if edge.guard is not DEFAULT and (edge.guard is None or edge.guard(view)):
                chosen.append(edge)
                if node.split == "first":
                    break
        chosen = chosen or [e for e in outs if e.guard is DEFAULT][:1]
        if not chosen and outs and node.no_match != "end":
            return None
        return chosen

    def home_of(self, name: str, scope: str) -> str:
        """The scope whose local variable this is; "" = a variable of the run."""
        while scope:
            if name in self.state["scopes"][scope]["vars"]:
                return scope
            scope = self.state["scopes"][scope]["parent"]
        return ""

    # ---- max_iter
    def forward(self, node: Node, scope: str, epoch: int) -> None:
        """At max_iter: take what lies there; the first time, put the last output once more as if settled."""
        here = place(node.id, scope, epoch)
        takes = self.lying_before(node.id, scope, epoch)
        about = {"tokens": [token_id(t) for t in takes], "why": "max_iteration", "node": node.id, "edge": ""}
        if self.state["forwarded"].get(here):
            self.say("absorbed", **about)
            self.tokens_gone(about["tokens"])
            return
        last = self.state["outputs"].get(node.id, {"output": None})["output"]
        visit = self.visits(node.id, scope, epoch)
        view = self.settle_view({"scope": scope, "epoch": epoch, "visit": visit}, node, "done", last, None)
        outs = [e for e in self.net.outs[node.id] if e.port == "done"]
        chosen = self.split(node, outs, view) or []
        self.say("absorbed", **about, forwards=here, dead=dead_marks(outs, chosen, scope, epoch))
        self.tokens_gone(about["tokens"])
        taken = {"path": common_path(takes), "passed": merged_passed(takes)}
        of = {"tokens": about["tokens"]}
        self.put_all(chosen, scope, epoch, last, f"{node.id}@{scope}~{epoch}#max", taken, of, maxiter=True)


def first_mode(node: Node) -> str:
    """P-X.40: "" where nobody may switch."""
    if not node.modes:
        return ""
    supervised = node.approve or node.approve_if is not None
    return "MANUAL" if not node.agent else "SUPERVISED" if supervised else "AUTONOMOUS"


def merged_passed(takes: list[dict]) -> dict:
    passed: dict[str, int] = {}
    for token in takes:
        for key, visit in token["passed"].items():
            passed[key] = max(passed.get(key, 0), visit)
    return passed


def common_path(takes: list[dict]) -> list:
    """The fork lineage all these tokens share."""
    if not takes:
        return []
    path = list(takes[0]["path"])
    for token in takes[1:]:
        same = 0
        while same < min(len(path), len(token["path"])) and path[same] == token["path"][same]:
            same += 1
        path = path[:same]
    return path


def dead_marks(outs: list[Edge], chosen: list[Edge], scope: str, epoch: int) -> list[str]:
    """Condition edges that were decided against."""
    return [place(e.id, scope, epoch + e.raises) for e in outs if e not in chosen and e.role == "cond"]


def node_view(output: Any, status: str) -> dict:
    return {**(output if isinstance(output, dict) else {}), "output": output, "status": status}
