import { openScriptedEpisode } from '@agentjet/rollout/testing';
import type { AgentInputItem, Model, ModelRequest } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { asModel } from './index.js';

const request: ModelRequest = {
  input: 'hi',
  modelSettings: {},
  tools: [],
  handoffs: [],
  outputType: 'text',
  tracing: false,
};
const user = (content: unknown): AgentInputItem => ({ role: 'user', content }) as AgentInputItem;
const answer = (text: string): AgentInputItem => ({
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text }],
});

function open(...replies: readonly string[]) {
  const episode = openScriptedEpisode({ replies });
  return { episode, model: asModel(episode.tuner, { agentName: 'solver' }) as Model };
}

async function promptOf(input: readonly object[]) {
  const { episode, model } = open('ok');
  await model.getResponse({ ...request, input: input as AgentInputItem[] });
  const { solver = {} } = episode.finish().ignoredParameters;
  return { text: episode.engine.requests[0]?.text ?? '', ignored: solver };
}

describe('answers of other agents', () => {
  it('stay separate messages before a turn of the model', async () => {
    const { episode, model } = open('<think>\nhm\n</think>\n\nfirst', 'second');
    const { output } = await model.getResponse({ ...request, input: [user('hi')] });
    const history = [user('hi'), answer('I am Bert.'), ...(output as AgentInputItem[]), user('go on')];
    await model.getResponse({ ...request, input: history });
    expect(episode.engine.requests[1]?.text).toMatch(/assistant\nI am Bert\.<.*assistant\n.*first</s);
    expect(episode.engine.requests[1]?.text).not.toMatch(/Bert\.first/);
  });

  it('stay apart from each other', async () => {
    const { text } = await promptOf([user('hi'), answer('I am Bert.'), answer('I am Carl.'), user('go on')]);
    expect(text).toMatch(/assistant\nI am Bert\.<.*assistant\nI am Carl\.</s);
  });

  it('have calls without arguments', async () => {
    const call = { type: 'function_call', callId: 'x', name: 'look', arguments: '', status: 'completed' };
    const result = { type: 'function_call_result', callId: 'x', name: 'look', status: 'completed', output: 'nothing' };
    const { text } = await promptOf([user('hi'), call, result]);
    expect(text).toContain('{"name": "look", "arguments": {}}');
  });

  it.each([
    { type: 'hosted_tool_call', name: 'web_search_call', status: 'completed' },
    { type: 'computer_call', callId: 'c', status: 'completed', action: { type: 'wait' } },
    { type: 'compaction', encrypted_content: 'EuY' },
    { type: 'item of next year' },
  ])('are left out and counted if the model cannot read them: $type', async (item) => {
    const { text, ignored } = await promptOf([user('hi'), item, item, answer('I am Bert.'), user('go on')]);
    expect(text).toContain('I am Bert.');
    expect(ignored).toEqual({ [`input: ${item.type}`]: 1 });
  });
});

it('content that is neither a string nor parts is refused in words', async () => {
  for (const content of [5, { a: 1 }, true, [7]])
    await expect(promptOf([user(content)])).rejects.toThrow(
      /The content of an item is .*\. Pass a string, or an array/,
    );
  const result = { type: 'function_call_result', callId: 'x', name: 'look', status: 'completed', output: 7 };
  await expect(promptOf([user('hi'), result])).rejects.toThrow('The content of an item is 7.');
});

it('a setting that is not known is refused by its name, one of the runner is not', async () => {
  const { model } = open('ok');
  const ask = (modelSettings: object) => model.getResponse({ ...request, modelSettings });
  await expect(ask({ topK: 3 })).rejects.toThrow('modelSettings.topK is not known to this model.');
  await expect(ask({ providerData: { top_k: 3 } })).rejects.toThrow('modelSettings.providerData.top_k is not known');
  await ask({ retry: { maxRetries: 2 }, timeoutMs: 9_000, store: undefined });
});
