/** Mastra takes the model of @agentjet/ai-sdk. Runs in the folder that run.mjs makes. */
import { asModel } from '@agentjet/ai-sdk';
import { expectContinuation, openScriptedEpisode } from '@agentjet/adapter-kit';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';

const call = (args) => `<tool_call>\n{"name": "add", "arguments": ${args}}\n</tool_call>`;
const add = createTool({ id: 'add', description: 'Adds.', inputSchema: z.object({ a: z.number(), b: z.number() }), execute: async (input) => String((input.context ?? input).a + (input.context ?? input).b) });

async function check(name, replies, converse) {
  const episode = openScriptedEpisode({ replies });
  const agent = new Agent({ id: 'solver', name: 'solver', instructions: 'Solve.', model: asModel(episode.tuner, { agentName: 'solver' }), tools: { add } });
  try {
    await converse(agent, episode);
    console.log(`ok   mastra: ${name}`);
  } catch (error) {
    console.log(`FAIL mastra: ${name}\n     ${error.message}`);
    process.exitCode = 1;
  }
}

function expectEqual(seen, expected) {
  if (JSON.stringify(seen) !== JSON.stringify(expected)) throw new Error(`seen ${JSON.stringify(seen)}, expected ${JSON.stringify(expected)}`);
}

const steps = [`<think>\nhard\n</think>\n\n${call('{"b": 2,  "a":1.0}')}`, call('{"a": 3,"b":4}'), ' Three and seven. '];

await check('generate goes on from the model’s own tokens, step by step', steps, async (agent, episode) => {
  const { text } = await agent.generate('1+2 and 3+4', { maxSteps: 5 });
  expectEqual(text.trim(), 'Three and seven.');
  expectContinuation(episode, 0, 1);
  expectContinuation(episode, 1, 2);
});

await check('stream goes on from the model’s own tokens, step by step', steps.map((text) => ({ text, tokenDelayMs: 0 })), async (agent, episode) => {
  const result = await agent.stream('1+2 and 3+4', { maxSteps: 5 });
  let text = '';
  for await (const piece of result.textStream) text += piece;
  expectEqual(text.includes('Three and seven.'), true);
  expectContinuation(episode, 0, 1);
  expectContinuation(episode, 1, 2);
});

await check('a history that was fed back is taken apart into its turns', [call('{"b": 2,  "a":1}'), call('{"a": 3,"b":4}'), 'done', 'welcome'], async (agent, episode) => {
  const first = await agent.generate('1+2 and 3+4', { maxSteps: 5 });
  const messages = first.response.messages ?? first.messages;
  await agent.generate([{ role: 'user', content: '1+2 and 3+4' }, ...messages, { role: 'user', content: 'thanks' }], { maxSteps: 5 });
  expectContinuation(episode, 2, 3);
});

await check('an abort ends the call in the engine', [{ text: 'a slow answer with many tokens', tokenDelayMs: 5 }], async (agent, episode) => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 50);
  await agent.generate('hi', { abortSignal: controller.signal }).catch(() => undefined);
  for (let waited = 0; waited < 50 && episode.engine.numRunning > 0; waited++) await new Promise((resolve) => setTimeout(resolve, 20));
  expectEqual(episode.engine.requests.map(({ outcome }) => outcome), ['aborted']);
  expectEqual(episode.finish().samples.length, 0);
});
process.exit();
