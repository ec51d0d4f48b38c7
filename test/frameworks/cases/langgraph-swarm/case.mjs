// #region page
import { asModel } from '@agentjet/langgraph';
import { createHandoffTool, createSwarm } from '@langchain/langgraph-swarm';
// #endregion
import { MemorySaver } from '@langchain/langgraph';
import { createAgent, tool as createTool } from 'langchain';
import { z } from 'zod';
import { callText, reply as addThenAnswer } from './check.mjs';
import { createAsk } from './langgraph.mjs';

export function open({ tuner, tool }) {
  const { name, description } = tool;
  const add = createTool(tool.run, { name, description, schema: z.object({ a: z.number(), b: z.number() }) });
  // #region page
  const alice = createAgent({
    name: 'Alice',
    model: asModel(tuner, { agentName: 'Alice' }),
    tools: [createHandoffTool({ agentName: 'Bob' })],
    systemPrompt: 'You are Alice. Bob solves sums.',
  });
  const bob = createAgent({
    name: 'Bob',
    model: asModel(tuner, { agentName: 'Bob' }),
    tools: [add, createHandoffTool({ agentName: 'Alice' })],
    systemPrompt: 'You are Bob. You solve sums.',
  });
  const graph = createSwarm({ agents: [alice.graph, bob.graph], defaultActiveAgent: 'Alice' }).compile({
    checkpointer: new MemorySaver(),
  });
  // #endregion
  return { ask: createAsk(graph, { threadId: 'one' }) };
}

/** Alice hands the first question over to Bob, who stays active. */
export const reply = (request) =>
  request.text.includes('You are Alice') ? callText('transfer_to_bob', '{ }') : addThenAnswer(request);

export const calls = 5;
export const rows = 2;
export const forks = { Bob: { system: 1 } };
