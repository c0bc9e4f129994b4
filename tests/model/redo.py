"""Rework of finished work (P-X.15), by search: who came of whom is looked up in all that was ever put and taken."""

from __future__ import annotations

from typing import Any


class Redoing:
    """A part of Turn. Only the history is remembered: `lives` are firings, `made` says where tokens came from."""

    def origin(self, tokens: list[str], root: int, known: dict[int, str]) -> str:
        """Do these tokens come of this life? `no`, `sole`: all of them and of nothing else, `shared`: among others."""
        found = {self.token_origin(token, root, known) for token in tokens}
        if found <= {"no"}:
            return "no"
        return "sole" if found == {"sole"} else "shared"

    def token_origin(self, token: str, root: int, known: dict[int, str]) -> str:
        made = self.state["made"][token]
        if made["life"] is None:
            return self.origin(made["tokens"], root, known)
        return "sole" if made["life"] == root else self.life_origin(made["life"], root, known)

    def life_origin(self, life: int, root: int, known: dict[int, str]) -> str:
        if life not in known:
            known[life] = self.origin(self.state["lives"][life]["takes"], root, known)
        return known[life]

    def gone_on(self, root: int, known: dict[int, str]) -> bool:
        """Has something been finished, or swept, that came of it, or that lay in a scope that came of it?"""
        lives = self.state["lives"]
        for n, life in enumerate(lives):
            at: int | None = n if life["sealed"] and n != root else None
            while at is not None:
                if self.life_origin(at, root, known) != "no":
                    return True
                at = lives[at]["owner"]
        return False

    def what_came(self, fid: str) -> dict[str, Any] | None:
        """All that is alive and came of a finished work; None if some of it must stay."""
        state = self.state
        kept, root, known = state["redo"][fid], state["life"][fid], {}
        if self.gone_on(root, known):
            return None
        firings = {
            name: self.life_origin(state["life"][name], root, known)
            for name, f in state["firings"].items()
            if f["comp"] is None and f["scope"] == kept["scope"]
        }
        tokens = {
            name: self.token_origin(name, root, known)
            for name, t in state["tokens"].items()
            if t["scope"] == kept["scope"]
        }
        if "shared" in (*firings.values(), *tokens.values()):
            return None
        made = [name for name, how in firings.items() if how == "sole"]
        scopes = [scope for name in made for child in self.children(name) for scope in self.under(child)]
        inside = [name for name, f in state["firings"].items() if f["scope"] in scopes]
        if not all(self.untouched(name) for name in (*made, *inside)):
            return None
        lying = [name for name, how in tokens.items() if how == "sole"]
        lying += [name for name, t in state["tokens"].items() if t["scope"] in scopes]
        return {"firings": [*made, *inside], "tokens": lying, "scopes": scopes}

    def untouched(self, name: str) -> bool:
        item = self.state["items"].get(name)
        opened = self.state["lives"][self.state["life"][name]]["opened"]
        return self.state["firings"][name]["phase"] == "scope" or bool(opened and item and item["status"] == "TODO")

    def take_back(self, scope: str, came: dict[str, Any]) -> None:
        state, scopes = self.state, came["scopes"]
        timers = [name for name, t in state["timers"].items() if t["scope"] in scopes]
        timers += [f"token/{t}" for t in came["tokens"] if f"token/{t}" in state["timers"]]
        self.say_swept(
            scope,
            "superseded",
            firings=came["firings"],
            tokens=came["tokens"],
            timers=list(dict.fromkeys(timers)),
            scopes=[s for s in scopes if state["scopes"][s]["status"] == "open"],
            owed=[key for key in state["owed"] if key.split("|")[1] in scopes],
        )
        if scopes:
            self.say("scope.forgotten", scopes=scopes)
