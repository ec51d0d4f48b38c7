// #region page
import { asModel } from '@agentjet/langgraph';
import { createSupervisor } from '@langchain/langgraph-supervisor';
// #endregion
import { createAgent, tool as createTool } from 'langchain';
import { z } from 'zod';
import { callText, reply as addThenAnswer } from './check.mjs';
import { createAsk } from './langgraph.mjs';

export function open({ tuner, tool }) {
  const { name, description } = tool;
  const add = createTool(tool.run, { name, description, schema: z.object({ a: z.number(), b: z.number() }) });
  // #region page
  const adder = createAgent({
    name: 'adder',
    model: asModel(tuner, { agentName: 'adder' }),
    tools: [add],
    systemPrompt: 'You solve sums.',
  });
  const graph = createSupervisor({
    agents: [adder.graph],
    llm: asModel(tuner, { agentName: 'supervisor' }),
    prompt: 'You give sums to the adder, and repeat its answer.',
  }).compile();
  // #endregion
  return { ask: createAsk(graph, { speaker: 'supervisor' }) };
}

/** The supervisor hands each question over, and repeats the answer. */
export function reply(request) {
  const { text } = request;
  const isBack = text.lastIndexOf('transferred back to supervisor') > text.lastIndexOf(' + ');
  if (!text.includes('You give sums to the adder') || isBack) return addThenAnswer(request);
  return callText('transfer_to_adder', '{ }');
}

export const calls = 8;
/** The supervisor keeps only the last message of the adder, so the second turn of the adder begins a new row. */
export const rows = 3;
export const forks = { adder: { system: 1, rewritten: 1 } };
