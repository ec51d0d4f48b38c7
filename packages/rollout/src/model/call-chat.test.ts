import type { ChatRequest } from '@agentjet/core';
import { expect, it } from 'vitest';
import { openScriptedEpisode } from '../testing.js';

const messages = [{ role: 'user', content: 'hi' } as const];
const closed = '<think>\n\n</think>\n\n';
const tuned = (options: Partial<Parameters<typeof openScriptedEpisode>[0]> = {}) => {
  const episode = openScriptedEpisode({ replies: ['fine'], ...options });
  return { ...episode, model: episode.tuner.selectModel({ agentName: 'a' }, (model) => model) };
};
const off = { enable_thinking: false };

it('variables of the chat template reach the prompt of their call alone', async () => {
  const { model, engine, finish } = tuned();
  for (const chatTemplateKwargs of [undefined, off, {}])
    await model.generate({ messages, ...(chatTemplateKwargs && { chatTemplateKwargs }) });
  expect(engine.requests.map(({ text }) => text.endsWith(closed))).toEqual([false, true, false]);
  expect(finish()).toMatchObject({ calls: { answered: 3, failed: 0 }, ignoredParameters: {} });
});

it.each<readonly [string, Partial<ChatRequest>]>([
  ['variables', { chatTemplateKwargs: off }],
  ['a request not to think', { thinkingOff: 'reasoning_effort' }],
])(
  '%s that change between the turns of a conversation fork it, and the answers keep their tokens',
  async (_, change) => {
    const { model, engine, finish } = tuned({ replies: ['<think>\nwhy\n</think>\n\none', 'two', 'three'] });
    const first = await model.generate({ messages });
    const history = [...messages, first.message, { role: 'user', content: 'more' } as const];
    const second = await model.generate({ messages: history, ...change });
    expect(engine.requests[1]?.text.endsWith(closed)).toBe(true);
    await model.generate({ messages: [...history, second.message, { role: 'user', content: 'end' }], ...change });
    const { stats, calls } = finish();
    expect(calls).toMatchObject({ answered: 3, failed: 0 });
    expect(stats.forks).toMatchObject({ a: { template: expect.any(Number) } });
    expect(stats.trainedTokens).toBe(stats.generatedTokens);
  },
);

it('the prompt is counted with its variables', async () => {
  const { model, engine } = tuned();
  if (!('countPromptTokens' in model)) throw new Error('The tuned model counts tokens.');
  const count = await (model as { countPromptTokens: (request: ChatRequest) => Promise<number> }).countPromptTokens({
    messages,
    chatTemplateKwargs: off,
  });
  await model.generate({ messages, chatTemplateKwargs: off });
  expect(count).toBe(engine.requests[0]?.request.promptIds.length);
});

it('a variable that the template does not read is counted, and so is a switch that it does not have', async () => {
  const { model, finish } = tuned();
  await model.generate({ messages, chatTemplateKwargs: { nonsense: 1 } });
  expect(finish().ignoredParameters).toEqual({ a: { 'chat_template_kwargs.nonsense': 1 } });
  const silent = tuned({ family: 'chatml' });
  await silent.model.generate({ messages, thinkingOff: 'reasoning_effort' });
  // A model that cannot think ignores the variable, and this is not counted.
  expect(silent.finish().ignoredParameters).toEqual({});
});

it.each([
  [{ messages: [] }, 'sets "messages"'],
  [{ bos_token: 'x' }, 'sets "bos_token"'],
  [7, 'is 7, not an object'],
])('%j is refused', async (chatTemplateKwargs, problem) => {
  const { model } = tuned();
  await expect(model.generate({ messages, chatTemplateKwargs: chatTemplateKwargs as never })).rejects.toThrow(problem);
});
