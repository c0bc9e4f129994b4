"""A person_job that asks a model behind an OpenAI-compatible endpoint; here a small server on this machine plays it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from penstock import Blocking

DIAGRAM = b"""
version: light
persons:
  Poet: {service: openai, model: small, system_prompt: You write one line., api_key: "${secrets.POET_KEY}"}
nodes:
  - {label: Start, type: start, data: {topic: a mill}}
  - {label: Write, type: person_job, person: Poet, default_prompt: "Write about {{default.topic}}."}
  - {label: Result, type: endpoint}
connections:
  - {from: Start, to: Write}
  - {from: Write, to: Result}
"""


class Model(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = f"{asked['model']} says: the wheel turns. ({asked['messages'][-1]['content']})"
        usage = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
        body = json.dumps({"choices": [{"message": {"content": said}}], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
settings = {"llm.base_url": f"http://127.0.0.1:{server.server_port}/v1", "secrets": {"POET_KEY": "not-in-the-journal"}}

with Blocking("runs.db", settings=settings) as penstock:
    run = penstock.start(penstock.release(DIAGRAM))
    print(penstock.wait(run).output["Result"])
    answer = next(line for line in penstock.inner.lines(run) if line.fact == "settled" and line.node == "Write")
    print(answer.data["meta"]["token_usage"])

# Prints:
# > small says: the wheel turns. (Write about a mill.)
# > {'input': 9, 'output': 5, 'total': 14}
