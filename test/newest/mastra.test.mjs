/** Tests Mastra, which uses the model of @agentjet/ai-sdk. This test runs in the project that project.mjs makes. */
import { expectContinuation, openScriptedEpisode } from '@agentjet/adapter-kit';
import { asModel } from '@agentjet/ai-sdk';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { expect, it } from 'vitest';
import { z } from 'zod';

const call = (args) => `<tool_call>\n{"name": "add", "arguments": ${args}}\n</tool_call>`;
const add = createTool({
  id: 'add',
  description: 'Adds.',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => String(a + b),
});
const steps = [
  `<think>\nhard\n</think>\n\n${call('{"b": 2,  "a":1.0}')}`,
  call('{"a": 3,"b":4}'),
  ' Three and seven. ',
];

function openAgent(replies) {
  const episode = openScriptedEpisode({ replies });
  const agent = new Agent({
    id: 'solver',
    name: 'solver',
    instructions: 'Solve.',
    model: asModel(episode.tuner, { agentName: 'solver' }),
    tools: { add },
  });
  return { agent, episode };
}

it('generate continues the model’s own tokens, step by step', async () => {
  const { agent, episode } = openAgent(steps);
  const { text } = await agent.generate('1+2 and 3+4', { maxSteps: 5 });
  expect(text.trim()).toBe('Three and seven.');
  expectContinuation(episode, 0, 1);
  expectContinuation(episode, 1, 2);
});

it('stream continues the model’s own tokens, step by step', async () => {
  const { agent, episode } = openAgent(steps.map((text) => ({ text, tokenDelayMs: 0 })));
  const result = await agent.stream('1+2 and 3+4', { maxSteps: 5 });
  let text = '';
  for await (const piece of result.textStream) text += piece;
  expect(text).toContain('Three and seven.');
  expectContinuation(episode, 0, 1);
  expectContinuation(episode, 1, 2);
});

it('a history that was fed back is taken apart into its turns', async () => {
  const { agent, episode } = openAgent([call('{"b": 2,  "a":1}'), call('{"a": 3,"b":4}'), 'done', 'welcome']);
  const first = await agent.generate('1+2 and 3+4', { maxSteps: 5 });
  const messages = first.response.messages ?? first.messages;
  await agent.generate([{ role: 'user', content: '1+2 and 3+4' }, ...messages, { role: 'user', content: 'thanks' }], {
    maxSteps: 5,
  });
  expectContinuation(episode, 2, 3);
});

it('an abort ends the call in the engine', async () => {
  const controller = new AbortController();
  const { agent, episode } = openAgent(
    () => (setTimeout(() => controller.abort(), 8), { text: 'a slow answer with many tokens', tokenDelayMs: 5 }),
  );
  await agent.generate('hi', { abortSignal: controller.signal }).catch(() => undefined);
  await expect.poll(() => episode.engine.requests.map(({ outcome }) => outcome)).toEqual(['aborted']);
  expect(episode.finish().samples).toHaveLength(0);
});
