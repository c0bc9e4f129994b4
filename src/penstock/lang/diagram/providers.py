"""The providers of integrated_api and their operations: one request each, as the providers' own documentation says.

A path is a list of segments; `{name}` in it is a member of the node's `config`, or its `resource_id` where the two are
named with a bar. `query` and `body` name the members that go there; what is required must be there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Operation:
    method: str
    path: tuple[str, ...] = ()
    query: tuple[str, ...] = ()
    body: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    fixed: dict[str, Any] = field(default_factory=dict)  # members that always go along, in the body or the query
    wrap: str = ""  # the body is a list of one under this name


@dataclass(frozen=True)
class Provider:
    """`auth` is how the key is sent: a header's value with {key}, basic, query:NAME, or nothing. `holds` is the member
    of an answer that must be true."""

    base_url: str
    auth: str
    operations: dict[str, Operation]
    headers: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    holds: str = ""


_REPO = ("repos", "{owner}", "{repo}")
_OF_REPO = ("owner", "repo")
_PAGING = ("per_page", "page")
_GITHUB = {
    "create_issue": Operation(
        "POST", (*_REPO, "issues"), body=("title", "body", "assignees", "labels", "milestone"),
        required=(*_OF_REPO, "title"),
    ),
    "update_issue": Operation(
        "PATCH", (*_REPO, "issues", "{issue_number|resource_id}"),
        body=("title", "body", "state", "assignees", "labels", "milestone"), required=_OF_REPO,
    ),
    "list_issues": Operation(
        "GET", (*_REPO, "issues"),
        query=("state", "labels", "sort", "direction", "assignee", "creator", "since", *_PAGING), required=_OF_REPO,
    ),
    "add_comment": Operation(
        "POST", (*_REPO, "issues", "{issue_number|resource_id}", "comments"), body=("body",),
        required=(*_OF_REPO, "body"),
    ),
    "create_pull_request": Operation(
        "POST", (*_REPO, "pulls"), body=("title", "head", "base", "body", "draft", "maintainer_can_modify"),
        required=(*_OF_REPO, "title", "head"), fixed={"base": "main"},
    ),
    "list_pull_requests": Operation(
        "GET", (*_REPO, "pulls"), query=("state", "head", "base", "sort", "direction", *_PAGING), required=_OF_REPO
    ),
    "merge_pull_request": Operation(
        "PUT", (*_REPO, "pulls", "{pull_number|resource_id}", "merge"),
        body=("commit_title", "commit_message", "merge_method"), required=_OF_REPO,
    ),
    "get_repository": Operation("GET", _REPO, required=_OF_REPO),
    "create_repository": Operation(
        "POST", ("user", "repos"), body=("name", "description", "private", "auto_init", "has_issues"),
        required=("name",),
    ),
    "list_repositories": Operation("GET", ("user", "repos"), query=("type", "sort", "direction", *_PAGING)),
    "create_release": Operation(
        "POST", (*_REPO, "releases"), body=("tag_name", "name", "body", "target_commitish", "draft", "prerelease"),
        required=(*_OF_REPO, "tag_name"),
    ),
    "create_workflow_dispatch": Operation(
        "POST", (*_REPO, "actions", "workflows", "{workflow_id}", "dispatches"), body=("ref", "inputs"),
        required=(*_OF_REPO, "workflow_id"), fixed={"ref": "main"},
    ),
    "list_workflow_runs": Operation(
        "GET", (*_REPO, "actions", "runs"), query=("status", "branch", "event", *_PAGING), required=_OF_REPO
    ),
    "get_user": Operation("GET", ("users", "{username|resource_id}")),
}  # fmt: skip
_SLACK = {
    "send_message": Operation(
        "POST", ("chat.postMessage",),
        body=("channel", "text", "blocks", "thread_ts", "reply_broadcast", "unfurl_links", "unfurl_media"),
        required=("channel",),
    ),
    "read_channel": Operation(
        "GET", ("conversations.history",), query=("channel", "limit", "oldest", "latest", "cursor", "inclusive"),
        required=("channel",),
    ),
    "create_channel": Operation(
        "POST", ("conversations.create",), body=("name", "is_private", "team_id"), required=("name",)
    ),
    "list_channels": Operation("GET", ("conversations.list",), query=("types", "limit", "cursor", "exclude_archived")),
}  # fmt: skip
_CHANNEL = ("channels", "{channel_id|resource_id}")
_MESSAGE = ("content", "embeds", "tts", "allowed_mentions", "message_reference", "components", "flags")
_EMBED = ("title", "description", "url", "color", "footer", "image", "thumbnail", "author", "fields", "timestamp")
_DISCORD = {
    "send_message": Operation("POST", (*_CHANNEL, "messages"), body=_MESSAGE),
    "send_embed": Operation("POST", (*_CHANNEL, "messages"), body=_EMBED, wrap="embeds"),
    "get_messages": Operation("GET", (*_CHANNEL, "messages"), query=("limit", "before", "after", "around")),
    "edit_message": Operation(
        "PATCH", (*_CHANNEL, "messages", "{message_id}"), body=_MESSAGE, required=("message_id",)
    ),
    "delete_message": Operation("DELETE", (*_CHANNEL, "messages", "{message_id}"), required=("message_id",)),
    "add_reaction": Operation(
        "PUT", (*_CHANNEL, "messages", "{message_id}", "reactions", "{emoji}", "@me"), required=("message_id", "emoji")
    ),
    "get_channel": Operation("GET", _CHANNEL),
    "create_thread": Operation(
        "POST", (*_CHANNEL, "threads"),
        body=("name", "auto_archive_duration", "type", "invitable", "rate_limit_per_user"), required=("name",),
    ),
    "create_channel": Operation(
        "POST", ("guilds", "{guild_id}", "channels"),
        body=("name", "type", "topic", "position", "permission_overwrites", "parent_id", "nsfw", "rate_limit_per_user"),
        required=("guild_id", "name"),
    ),
    "list_channels": Operation("GET", ("guilds", "{guild_id}", "channels"), required=("guild_id",)),
    "get_guild": Operation("GET", ("guilds", "{guild_id|resource_id}"), query=("with_counts",)),
    "list_guild_members": Operation(
        "GET", ("guilds", "{guild_id}", "members"), query=("limit", "after"), required=("guild_id",)
    ),
    "create_role": Operation(
        "POST", ("guilds", "{guild_id}", "roles"), body=("name", "permissions", "color", "hoist", "mentionable"),
        required=("guild_id",),
    ),
    "create_webhook": Operation("POST", (*_CHANNEL, "webhooks"), body=("name", "avatar"), required=("name",)),
}  # fmt: skip
_NOTION = {
    "create_page": Operation(
        "POST", ("pages",), body=("parent", "properties", "children", "icon", "cover"), required=("parent",)
    ),
    "read_page": Operation("GET", ("pages", "{page_id|resource_id}")),
    "update_page": Operation("PATCH", ("pages", "{page_id|resource_id}"), body=("properties", "archived")),
    "delete_page": Operation("PATCH", ("pages", "{page_id|resource_id}"), fixed={"archived": True}),
    "append_blocks": Operation("PATCH", ("blocks", "{page_id|resource_id}", "children"), body=("children",)),
    "list_blocks": Operation(
        "GET", ("blocks", "{page_id|resource_id}", "children"), query=("page_size", "start_cursor")
    ),
    "query_database": Operation(
        "POST", ("databases", "{database_id|resource_id}", "query"),
        body=("filter", "sorts", "page_size", "start_cursor"),
    ),
    "create_database": Operation(
        "POST", ("databases",), body=("parent", "title", "properties", "is_inline", "description"),
        required=("parent", "properties"),
    ),
    "update_database": Operation(
        "PATCH", ("databases", "{database_id|resource_id}"), body=("title", "description", "properties", "archived")
    ),
}  # fmt: skip
_ISSUE = ("rest", "api", "2", "issue")
_JIRA = {
    "create_issue": Operation("POST", _ISSUE, body=("fields",), required=("fields",)),
    "update_issue": Operation("PUT", (*_ISSUE, "{issue_key|resource_id}"), body=("fields",), required=("fields",)),
    "search_issues": Operation("GET", ("rest", "api", "2", "search"), query=("jql", "maxResults", "startAt", "fields")),
    "transition_issue": Operation(
        "POST", (*_ISSUE, "{issue_key|resource_id}", "transitions"), body=("transition",), required=("transition",)
    ),
    "add_comment": Operation(
        "POST", (*_ISSUE, "{issue_key|resource_id}", "comment"), body=("body",), required=("body",)
    ),
}  # fmt: skip
_QUERY = {"action": "query", "format": "json", "formatversion": "2"}
_WIKIPEDIA = {
    "search": Operation(
        "GET", query=("srsearch", "srlimit", "sroffset"), required=("srsearch",), fixed={**_QUERY, "list": "search"}
    ),
    "get_page_extract": Operation(
        "GET", query=("titles", "exchars", "exsentences"), required=("titles",),
        fixed={**_QUERY, "prop": "extracts", "explaintext": "true"},
    ),
    "get_page_content": Operation(
        "GET", query=("titles",), required=("titles",),
        fixed={**_QUERY, "prop": "revisions|info", "rvprop": "content|timestamp", "inprop": "url"},
    ),
}  # fmt: skip
_ARXIV = {
    "search": Operation(
        "GET", ("query",), query=("search_query", "id_list", "start", "max_results", "sortBy", "sortOrder")
    )
}
_GOOGLE = {"search": Operation("GET", query=("q", "cx", "num", "start"), required=("q", "cx"))}

PROVIDERS: dict[str, Provider] = {
    "github": Provider(
        "https://api.github.com", "Bearer {key}", _GITHUB,
        headers={"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"},
        aliases={"create_pr": "create_pull_request", "merge_pr": "merge_pull_request",
                 "get_repo_info": "get_repository"},
    ),
    "slack": Provider(
        "https://slack.com/api", "Bearer {key}", _SLACK, aliases={"post_message": "send_message"}, holds="ok"
    ),
    "discord": Provider("https://discord.com/api/v10", "Bot {key}", _DISCORD),
    "notion": Provider("https://api.notion.com/v1", "Bearer {key}", _NOTION, headers={"Notion-Version": "2022-06-28"}),
    "jira": Provider("", "basic", _JIRA),
    "google_search": Provider("https://www.googleapis.com/customsearch/v1", "query:key", _GOOGLE),
    "wikipedia": Provider("https://en.wikipedia.org/w/api.php", "", _WIKIPEDIA),
    "arxiv": Provider("https://export.arxiv.org/api", "", _ARXIV),
}  # fmt: skip
#: Names of the original that are members of a request under another name.
RENAMED = {
    ("wikipedia", "query"): "srsearch", ("wikipedia", "limit"): "srlimit", ("wikipedia", "title"): "titles",
    ("arxiv", "query"): "search_query", ("google_search", "query"): "q", ("notion", "blocks"): "children",
}  # fmt: skip
