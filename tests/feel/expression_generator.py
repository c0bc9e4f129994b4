"""Random FEEL expressions of every kind, by a seed: for comparison with another implementation."""

from __future__ import annotations

from random import Random

_WORDS = ["", "a", "ab", "foo", "Bar", "foobar", "x y", "한글"]
_DAYS = ["2020-02-29", "2019-12-31", "2024-01-15", "1999-07-04"]


class Generator:
    """Makes expressions: one method per kind of value, each given how deep it may still nest."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def any(self, depth: int = 3) -> str:
        return self.pick(self.number, self.boolean, self.text, self.list, self.temporal, self.mixed)(depth)

    def pick(self, *options: object) -> object:
        return self.random.choice(options)

    def number(self, depth: int) -> str:
        if depth <= 0:
            return str(self.pick("0", "1", "2", "7", "10", "-3", "2.5", "0.25", "100"))
        n, deeper = self.number, depth - 1
        return str(
            self.pick(
                lambda: f"({n(deeper)} {self.pick('+', '-', '*')} {n(deeper)})",
                lambda: f"({n(deeper)} / {self.pick('2', '4', '5')})",
                lambda: f"{self.pick('abs', 'floor', 'ceiling')}({n(deeper)})",
                lambda: f"modulo({n(deeper)}, {self.pick('2', '3', '-5')})",
                lambda: f"{self.pick('min', 'max', 'sum', 'product', 'count', 'mean')}({self.numbers(deeper)})",
                lambda: f"string length({self.text(deeper)})",
                lambda: f"(if {self.boolean(deeper)} then {n(deeper)} else {n(deeper)})",
                lambda: f"{self.numbers(deeper)}[{self.pick('1', '2', '-1')}]",
                lambda: f"{{a: {n(deeper)}, b: a + 1}}.b",
                lambda: f"({n(0)} ** {self.pick('2', '3')})",
                lambda: f"decimal({n(deeper)}, 1)",
                lambda: f"(function(v) v + {n(deeper)})({n(0)})",
            )()
        )

    def boolean(self, depth: int) -> str:
        if depth <= 0:
            return str(self.pick("true", "false"))
        n, b, deeper = self.number, self.boolean, depth - 1
        return str(
            self.pick(
                lambda: f"({n(deeper)} {self.pick('<', '<=', '>', '>=', '=', '!=')} {n(deeper)})",
                lambda: f"({b(deeper)} {self.pick('and', 'or')} {b(deeper)})",
                lambda: f"not({b(deeper)})",
                lambda: f"({n(deeper)} between {n(0)} and {n(0)})",
                lambda: f"({n(deeper)} in [{self.pick('0', '1')}..{self.pick('5', '10')}])",
                lambda: f"({self.pick('some', 'every')} v in {self.numbers(deeper)} satisfies v > {n(0)})",
                lambda: f"list contains({self.numbers(deeper)}, {n(0)})",
                lambda: f"{self.pick('contains', 'starts with', 'ends with')}({self.text(deeper)}, {self.text(0)})",
                lambda: f"{self.pick('odd', 'even')}({n(0)})",
                lambda: f"({self.text(deeper)} = {self.text(0)})",
                lambda: f"({n(deeper)} instance of {self.pick('number', 'string')})",
            )()
        )

    def text(self, depth: int) -> str:
        if depth <= 0:
            return f'"{self.random.choice(_WORDS)}"'
        t, deeper = self.text, depth - 1
        return str(
            self.pick(
                lambda: f"({t(deeper)} + {t(deeper)})",
                lambda: f"{self.pick('upper case', 'lower case')}({t(deeper)})",
                lambda: f"substring({t(deeper)}, {self.pick('1', '2', '-1')})",
                lambda: f"substring before({t(deeper)}, {t(0)})",
                lambda: f'string join([{t(deeper)}, {t(0)}], "-")',
                lambda: f"string({self.random.randint(-50, 50)})",
                lambda: f'replace({t(deeper)}, "o", "0")',
            )()
        )

    def numbers(self, depth: int) -> str:
        if depth <= 0:
            return f"[{', '.join(self.number(0) for _ in range(self.random.randint(1, 4)))}]"
        ns, deeper = self.numbers, depth - 1
        return str(
            self.pick(
                lambda: f"[{', '.join(self.number(deeper) for _ in range(self.random.randint(1, 3)))}]",
                lambda: f"(for v in {ns(deeper)} return v * {self.number(0)})",
                lambda: f"(for v in 1..{self.random.randint(1, 5)} return v + 1)",
                lambda: f"concatenate({ns(deeper)}, {ns(0)})",
                lambda: f"append({ns(deeper)}, {self.number(0)})",
                lambda: f"sort({ns(deeper)}, function(x, y) x < y)",
                lambda: f"distinct values({ns(deeper)})",
                lambda: f"[{{a: {self.number(deeper)}}}, {{a: {self.number(0)}}}].a",
            )()
        )

    def list(self, depth: int) -> str:
        return str(
            self.pick(
                lambda: self.numbers(depth),
                lambda: f"{self.numbers(depth)}[item > {self.number(0)}]",
                lambda: f"reverse({self.numbers(depth - 1)})",
                lambda: f"index of({self.numbers(depth - 1)}, {self.number(0)})",
                lambda: f'split({self.text(0)}, "o")',
                lambda: f"flatten([{self.numbers(0)}, [{self.numbers(0)}]])",
                lambda: f"remove({self.numbers(depth - 1)}, 1)",
            )()
        )

    def temporal(self, depth: int) -> str:
        day = f'date("{self.random.choice(_DAYS)}")'
        span = f'duration("{self.pick("P1D", "P1M", "P2Y", "P40D", "-P1M", "P1Y2M")}")'
        return str(
            self.pick(
                lambda: f"({day} + {span}).{self.pick('year', 'month', 'day', 'weekday')}",
                lambda: f"string({day} - {span})",
                lambda: f"({day} < {day} + {span})",
                lambda: f"day of week({day})",
                lambda: f"day of year({day})",
                lambda: f"week of year({day})",
                lambda: f'string({day} - date("{self.random.choice(_DAYS)}"))',
                lambda: f"years and months duration({day}, {day} + {span}).months",
            )()
        )

    def mixed(self, depth: int) -> str:
        """What is null, and how it spreads."""
        null = str(self.pick("null", "nowhere", "(null + 1)", '("a" * 2)', "[][1]", "{}.b"))
        return str(
            self.pick(
                lambda: f"({null} + {self.number(depth - 1)})",
                lambda: f"({null} = null)",
                lambda: f"({null} and {self.boolean(depth - 1)})",
                lambda: f"({null} or {self.boolean(depth - 1)})",
                lambda: f"(if {null} then 1 else 2)",
                lambda: f"[{null}, {self.number(0)}]",
                lambda: f"upper case({null})",
                lambda: f"({self.number(0)} < {null})",
            )()
        )
