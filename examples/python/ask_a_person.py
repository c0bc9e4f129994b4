"""A run waits for a person. Waiting is a row in the store: the program may end and another one may give the answer."""

from pathlib import Path

from penstock import Blocking

ASK = Path(__file__).parents[1] / "diagram/ask.yaml"

with Blocking("runs.db") as penstock:
    run = penstock.start(penstock.release(ASK))
    look = penstock.wait(run, until_waiting=True)
    print(look.status, look.waiting[0].node, "|", look.waiting[0].prompt)

with Blocking("runs.db") as penstock:
    penstock.respond(run, "Ask name", "Kim", by="kim@example.com")
    print(penstock.wait(run).output)

# Prints:
# > WAITING Ask name | What is your name?
# > {'Endpoint': 'Hello Kim!'}
