"""What requests and answers look like: one file per resource. Only here and in routes is pydantic used."""
