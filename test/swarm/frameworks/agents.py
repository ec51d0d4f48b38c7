"""One agent with one tool in each framework, run for a swarm:
`agents.py <autogen|crewai|langchain|smolagents> <server>`.

The framework has no code for the swarm. It gets the address, the key and the name of its model, as for any
OpenAI-compatible model.
"""

import asyncio
import json
import sys
from typing import Annotated

import ajet_swarm

SYSTEM = "You are a careful assistant. Use the tool for sums."


def add(a: Annotated[float, "The first number."], b: Annotated[float, "The second number."]) -> float:
    """Adds two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b


def autogen(question: str, episode: ajet_swarm.Episode) -> str:
    from autogen_agentchat.agents import AssistantAgent
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    info = {"family": "unknown", "function_calling": True, "json_output": False, "structured_output": False, "vision": False}
    model = OpenAIChatCompletionClient(model=episode.model, base_url=episode.base_url("solver"), api_key=episode.key, model_info=info)
    agent = AssistantAgent("solver", model_client=model, tools=[add], system_message=SYSTEM, max_tool_iterations=4)
    return asyncio.run(agent.run(task=question)).messages[-1].content


def crewai(question: str, episode: ajet_swarm.Episode) -> str:
    from crewai import LLM, Agent
    from crewai.tools import tool

    llm = LLM(model=episode.model, provider="openai", base_url=episode.base_url("solver"), api_key=episode.key)
    agent = Agent(role="solver", goal="Answer questions.", backstory=SYSTEM, llm=llm, tools=[tool(add)])
    return agent.kickoff(question).raw


def langchain(question: str, episode: ajet_swarm.Episode) -> str:
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model=episode.model, base_url=episode.base_url("solver"), api_key=episode.key)
    agent = create_agent(model, tools=[add], system_prompt=SYSTEM)
    return agent.invoke({"messages": [("user", question)]})["messages"][-1].text


def smolagents(question: str, episode: ajet_swarm.Episode) -> str:
    from smolagents import OpenAIModel, ToolCallingAgent, tool

    model = OpenAIModel(model_id=episode.model, api_base=episode.base_url("solver"), api_key=episode.key)
    return str(ToolCallingAgent(tools=[tool(add)], model=model, instructions=SYSTEM, verbosity_level=0).run(question))


AGENTS = {"autogen": autogen, "crewai": crewai, "langchain": langchain, "smolagents": smolagents}


def main(framework: str, server: str) -> None:
    answers: list = []

    def workflow(task: dict, episode: ajet_swarm.Episode) -> str:
        answers.append(AGENTS[framework](task["main_query"], episode))
        return answers[-1]

    def reward(task: dict, output: str) -> dict:
        is_right = task["metadata"]["answer"] in output
        return {"reward": float(is_right), "is_success": is_right}

    tasks = [{"task_id": "sum-1", "main_query": "What is 2 + 3?", "metadata": {"answer": "5"}}]
    with ajet_swarm.SwarmClient(server, client=framework) as swarm:
        counts = swarm.run(workflow, tasks, reward_fn=reward, parallel=1, max_episodes=1)
    print(json.dumps({**counts, "answers": answers}))


if __name__ == "__main__":
    main(*sys.argv[1:])
