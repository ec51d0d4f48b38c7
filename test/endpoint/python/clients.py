"""Real clients of the endpoint, as a Python agent would use them.

The program reads one JSON object per line, {"client", "task", "url" (it ends in /v1), "key"}, and prints one per line.
The tasks are: `whole` and `streamed` ask one question and answer tool calls until the model makes none; `errors` causes
some errors; `leave` closes a stream after its first piece; `late` gives up waiting; `retry` calls once, with the
client's own retries.
"""

import json
import sys
import traceback
from functools import partial

SYSTEM, QUESTION = "You are a careful assistant.", "Go."
PARAMETERS = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}


def describe(error: Exception) -> dict:
    return {"type": type(error).__name__, "status": getattr(error, "status_code", None), "text": str(error)}


def catch(call) -> dict:
    try:
        call()
    except Exception as error:  # noqa: BLE001, the answer names the type of any error
        return describe(error)
    return {"type": "none"}


class OpenAIClient:
    """Uses openai with Chat Completions."""

    def __init__(self, url: str, key: str, retries: int = 0, timeout: float = 60) -> None:
        from openai import OpenAI

        self.client = OpenAI(base_url=url, api_key=key, max_retries=retries, timeout=timeout)
        self.messages: list = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
        self.tools = [{"type": "function", "function": {"name": "add", "parameters": PARAMETERS}}]

    def ask(self, streamed: bool = False, **options):
        body = {"model": "tuned", "messages": self.messages, "tools": self.tools, **options}
        if not streamed:
            return self.client.chat.completions.create(**body).choices[0].message
        with self.client.chat.completions.stream(**body) as stream:
            for _event in stream:
                pass
            return stream.get_final_completion().choices[0].message

    def step(self, streamed: bool):
        message = self.ask(streamed)
        self.messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
        calls = message.tool_calls or []
        self.messages += [{"role": "tool", "tool_call_id": call.id, "content": "3"} for call in calls]
        return message.content or "", [call.function.arguments for call in calls]

    def leave(self) -> None:
        with self.client.chat.completions.create(model="tuned", messages=self.messages, stream=True) as stream:
            for chunk in stream:
                if chunk.choices and chunk.choices[0].delta.content:
                    return


class ResponsesClient:
    """Uses openai with Responses. The server keeps the history."""

    def __init__(self, url: str, key: str, retries: int = 0, timeout: float = 60) -> None:
        from openai import OpenAI

        self.client = OpenAI(base_url=url, api_key=key, max_retries=retries, timeout=timeout)
        self.input: list = [{"role": "user", "content": QUESTION}]
        self.previous = None

    def ask(self, streamed: bool = False, **options):
        tools = [{"type": "function", "name": "add", "parameters": PARAMETERS, "strict": False}]
        body = {"model": "tuned", "instructions": SYSTEM, "input": self.input, "tools": tools, "previous_response_id": self.previous, **options}
        if not streamed:
            return self.client.responses.create(**body)
        with self.client.responses.stream(**body) as stream:
            for _event in stream:
                pass
            return stream.get_final_response()

    def step(self, streamed: bool):
        response = self.ask(streamed)
        calls = [item for item in response.output if item.type == "function_call"]
        self.previous = response.id
        self.input = [{"type": "function_call_output", "call_id": call.call_id, "output": "3"} for call in calls]
        return response.output_text, [call.arguments for call in calls]

    def leave(self) -> None:
        with self.client.responses.create(model="tuned", input=self.input, stream=True) as stream:
            for event in stream:
                if event.type == "response.output_text.delta":
                    return


class AnthropicClient:
    """Uses anthropic with Messages."""

    def __init__(self, url: str, key: str, retries: int = 0, timeout: float = 60) -> None:
        from anthropic import Anthropic

        self.client = Anthropic(base_url=url.removesuffix("/v1"), api_key=key, max_retries=retries, timeout=timeout)
        self.messages: list = [{"role": "user", "content": QUESTION}]

    def ask(self, streamed: bool = False, **options):
        tools = [{"name": "add", "input_schema": PARAMETERS}]
        body = {"model": "tuned", "system": SYSTEM, "messages": self.messages, "max_tokens": 1000, "tools": tools, **options}
        if not streamed:
            return self.client.messages.create(**body)
        with self.client.messages.stream(**body) as stream:
            return stream.get_final_message()

    def step(self, streamed: bool):
        message = self.ask(streamed)
        calls = [block for block in message.content if block.type == "tool_use"]
        self.messages.append({"role": "assistant", "content": message.content})
        self.messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "3"} for call in calls]})
        text = "".join(block.text for block in message.content if block.type == "text")
        return text, [json.dumps(call.input) for call in calls]

    def leave(self) -> None:
        with self.client.messages.stream(model="tuned", messages=self.messages, max_tokens=1000) as stream:
            for _text in stream.text_stream:
                return


class LangChainClient:
    """Uses langchain-openai with bound tools."""

    def __init__(self, url: str, key: str, retries: int = 0, timeout: float = 60) -> None:
        from langchain_openai import ChatOpenAI

        self.model = ChatOpenAI(base_url=url, api_key=key, model="tuned", max_retries=retries, timeout=timeout)
        self.bound = self.model.bind_tools([{"type": "function", "function": {"name": "add", "parameters": PARAMETERS}}])
        self.messages: list = [("system", SYSTEM), ("user", QUESTION)]

    def ask(self, streamed: bool = False, **options):
        if not streamed:
            return self.bound.invoke(self.messages, **options)
        whole = None
        for chunk in self.bound.stream(self.messages, **options):
            whole = chunk if whole is None else whole + chunk
        return whole

    def step(self, streamed: bool):
        from langchain_core.messages import ToolMessage

        message = self.ask(streamed)
        self.messages.append(message)
        self.messages += [ToolMessage("3", tool_call_id=call["id"]) for call in message.tool_calls]
        return message.text, [json.dumps(call["args"]) for call in message.tool_calls]

    def leave(self) -> None:
        for chunk in self.model.stream(self.messages):
            if chunk.text:
                return


CLIENTS = {"openai": OpenAIClient, "responses": ResponsesClient, "anthropic": AnthropicClient, "langchain": LangChainClient}


def converse(make, streamed: bool) -> dict:
    client, texts, calls = make(), [], []
    while True:
        text, arguments = client.step(streamed)
        texts.append(text)
        calls += arguments
        if not arguments:
            return {"texts": texts, "calls": calls}


def errors(make) -> dict:
    long = make()
    if hasattr(long, "messages"):
        long.messages[-1] = ("user", "word " * 3000) if isinstance(long.messages[-1], tuple) else {"role": "user", "content": "word " * 3000}
    else:
        long.input = "word " * 3000
    return {
        "too_long": catch(long.ask),
        "too_long_streamed": catch(lambda: long.ask(streamed=True)),
        "wrong_key": catch(make(key="sk-other").ask),
        "out_of_range": catch(lambda: make().ask(extra_body={"temperature": -1})),
    }


def run(client: str, task: str, url: str, key: str) -> dict:
    make = partial(CLIENTS[client], url=url, key=key)
    if task in ("whole", "streamed"):
        return converse(make, task == "streamed")
    if task == "errors":
        return errors(make)
    if task == "leave":
        return make().leave() or {}
    if task == "late":
        return catch(make(timeout=1).ask)
    return {"text": make(retries=2).step(False)[0]}


def main() -> None:
    for line in sys.stdin:
        try:
            result = run(**json.loads(line))
        except Exception:  # noqa: BLE001, the test prints any error
            result = {"failed": traceback.format_exc()}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
