"""The server of the Model Context Protocol: its lists of tools, and their calls."""

from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import mcp_types as types
import msgspec
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server

from tenure.contrib.mcp.job_calls import run_task
from tenure.contrib.mcp.tools import OPERATOR_TOOLS, TOOLS, Failed, Tool, ToolCall
from tenure.control.announcement import announcement
from tenure.control.authorized_client import AuthorizedClient
from tenure.control.client import Client
from tenure.control.subscription import Subscription
from tenure.domain.principal import Principal
from tenure.domain.values import shown
from tenure.errors import InputRefused, TenureError

INSTRUCTIONS = (
    "A tool with the name of a task runs a job and returns its result; to cancel the call cancels "
    "the job. For long work use start_job, then get_job and cancel_job. cancel_job returns when "
    "the code of the job has really ended. If a job asks a question, ask the person you work for, "
    "and pass the answer on with answer_job; never answer by yourself."
)

CallerOf = Callable[[ServerRequestContext[Any, Any]], AuthorizedClient]


def create_server(
    app: Client, principal: Principal | None = None, *, operator: bool = False
) -> Server[Any]:
    """Return a server whose tools are the tasks of an app, and tools for their jobs.

    ``principal`` owns the jobs of every call; left out, it is the caller of each HTTP request.
    ``operator`` adds tools that list, explain, inspect and stop jobs of others, as far as the role
    of the caller allows.
    """
    from tenure.contrib.mcp.http import caller_of_request

    known = None if principal is None else AuthorizedClient(app, principal)

    def caller_of(context: ServerRequestContext[Any, Any]) -> AuthorizedClient:
        return known or caller_of_request(context)

    tools = {tool.name: tool for tool in TOOLS + (OPERATOR_TOOLS if operator else ())}
    tasks = _tasks_by_tool(app, tools)

    async def list_tools(
        _: ServerRequestContext[Any, Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        described = [_task_tool(app, tool, task) for tool, task in tasks.items()]
        return types.ListToolsResult(tools=[*described, *map(_described, tools.values())])

    async def call_tool(
        context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            async with Subscription(app) as subscription:
                call = ToolCall(
                    caller_of(context),
                    subscription,
                    context.session,
                    tasks,
                    context.request_id,
                    operator,
                )
                return _result(await _answer(call, params.name, params.arguments or {}))
        except TenureError as error:
            return _error({"error": {"type": type(error).__name__, "message": str(error)}})

    async def _answer(call: ToolCall, name: str, arguments: Mapping[str, Any]) -> Any:
        if name in tasks:
            return await run_task(call, tasks[name], arguments)
        if name in tools:
            return await tools[name].run(call, arguments)
        raise InputRefused(f"there is no tool {shown(name)}")

    return Server(
        "tenure",
        version=version("tenure"),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_stdio(server: Server[Any]) -> None:
    """Serve the client at standard input and output until it closes them."""
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def _tasks_by_tool(app: Client, tools: Mapping[str, Tool]) -> dict[str, str]:
    """Return the tasks by the names of their tools: that of the function, if it is the only one."""
    short = [task.rpartition(".")[2] for task in app.tasks]
    return {
        last if short.count(last) == 1 and last not in tools else task.replace(".", "_"): task
        for task, last in zip(app.tasks, short, strict=True)
    }


def _task_tool(app: Client, name: str, task: str) -> types.Tool:
    known = announcement(app.tasks[task])
    schema = known["schema"] if isinstance(known["schema"], dict) else {"type": "object"}
    description = known["doc"] if isinstance(known["doc"], str) else f"Run the task {task}."
    return types.Tool(name=name, description=description, input_schema=schema)


def _described(tool: Tool) -> types.Tool:
    return types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema)


def _result(answer: Any) -> types.CallToolResult:
    if isinstance(answer, Failed):
        return _error(answer.facts)
    return _content(answer)


def _error(answer: Any) -> types.CallToolResult:
    return _content(answer, is_error=True)


def _content(answer: Any, *, is_error: bool = False) -> types.CallToolResult:
    text = msgspec.json.encode(answer).decode()
    structured = msgspec.json.decode(text)
    return types.CallToolResult(
        content=[types.TextContent(text=text)],
        structured_content=structured if isinstance(structured, dict) else {"items": structured},
        is_error=is_error,
    )
