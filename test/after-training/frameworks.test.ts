import type { AdapterDriver } from '@agentjet/adapter-kit';
import { openTunedModel, type TunedModel } from 'agentjet';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { anthropicDriver } from '../adapters/anthropic-driver.js';
import { aiSdkDriver } from '../adapters/ai-sdk-driver.js';
import { googleDriver } from '../adapters/google-driver.js';
import { langgraphDriver } from '../adapters/langgraph-driver.js';
import { openaiAgentsDriver } from '../adapters/openai-agents-driver.js';
import { openaiDriver } from '../adapters/openai-driver.js';
import { reactDriver } from '../adapters/react-driver.js';

/** After training, the agent's code stays the same: a tuner without an episode works for every adapter. */

let tuned: TunedModel;
beforeAll(async () => {
  tuned = await openTunedModel('nano', { temperature: 0, maxTokens: 6, numThreads: 1 });
});
afterAll(() => tuned.close());

/** Returns what the agent of a framework gets at once, and what it gets piece by piece. */
async function ask<M, H>({ asModel, begin, call, stream, required }: AdapterDriver<M, H>): Promise<readonly string[]> {
  const model = asModel(tuned, { agentName: 'solver' });
  const history = begin('Night. Whom do you kill?', 'You play werewolves.');
  const options = { tools: [], sampling: required?.includes('maxTokens') === true ? { maxTokens: 6 } : {} };
  const { text } = await call(model, history, options);
  if (stream === undefined) return [text];
  const pieces: string[] = [];
  const streamed = await stream(model, history, options, (piece) => void pieces.push(piece));
  return [text, pieces.join(''), streamed.text];
}

it('answers agents of all frameworks alike, at once and as a stream', async () => {
  const answers = [
    await ask(reactDriver),
    await ask(openaiDriver),
    await ask(anthropicDriver),
    await ask(googleDriver),
    await ask(langgraphDriver),
    await ask(aiSdkDriver),
    await ask(openaiAgentsDriver),
  ];
  const [text] = answers.flat();
  expect(text).toMatch(/\S/);
  expect(new Set(answers.flat())).toEqual(new Set([text]));
});
