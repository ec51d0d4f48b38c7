import { type ChatRequest, isCountingChatModel } from '@agentjet/core';
import { describe, expect, it } from 'vitest';
import { openScriptedEpisode } from '../testing.js';
import { isNamed } from './is-named.js';

const user = (content: string) => ({ role: 'user' as const, content });
const question: ChatRequest = { messages: [user('What is 1 + 2?')] };
const title: ChatRequest = { messages: [...question.messages, user('A title for this?')] };

function open(untrainedModels: readonly string[] = []) {
  const replies = ({ text }: { readonly text: string }) => (text.includes('title') ? 'Sums' : 'Three');
  const episode = openScriptedEpisode({ replies, untrainedModels });
  const model = episode.tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
  return { ...episode, model };
}

async function play(sideCalls: readonly ChatRequest[], untrainedModels: readonly string[] = []) {
  const { model, engine, finish } = open(untrainedModels);
  const { message } = await model.generate(question);
  const answers = await Promise.all(sideCalls.map((request) => model.generate(request)));
  await model.generate({ messages: [...question.messages, message, user('Sure?')] });
  const trained = engine.requests.filter(({ text }) => !text.includes('title'));
  return { answers, ...finish(), seeds: trained.map(({ request }) => request.sampling.seed) };
}

describe('a call that is marked as not trained', () => {
  it.each<readonly [string, ChatRequest, readonly string[]]>([
    ['by itself', { ...title, isTrained: false }, []],
    ['by the model name that it asks for', { ...title, model: 'Claude-Haiku-4-5' }, ['*haiku*']],
  ])('%s, is answered and counted, and changes nothing else', async (_how, request, patterns) => {
    const [without, played] = [await play([]), await play([request], patterns)];
    expect(played.answers[0]?.message.content).toBe('Sums');
    expect(played.calls).toMatchObject({ answered: 3, untrained: 1 });
    expect(played.stats).toMatchObject({ calls: 2, samples: 1, forks: {}, foreignMessages: {} });
    expect(played.seeds).toEqual(without.seeds);
    expect(played.samples.map(({ ids }) => [...ids])).toEqual(without.samples.map(({ ids }) => [...ids]));
  });

  it('streams like any other, and a retry of it gets its answer', async () => {
    const { model, finish, engine } = open();
    const request = { ...title, isTrained: false, requestId: 'once' };
    let streamed = '';
    const first = await model.generate(request, {
      onDelta: (delta) => (streamed += 'text' in delta ? delta.text : ''),
    });
    expect([streamed, await model.generate(request)]).toEqual(['Sums', first]);
    expect(engine.requests).toHaveLength(1);
    expect(finish()).toMatchObject({ samples: [], calls: { answered: 1, untrained: 1, repeated: 1 } });
  });

  it('may ask for tools, and its calls have ids', async () => {
    const episode = openScriptedEpisode({
      replies: ['<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call>'],
    });
    const model = episode.tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
    const tools = [{ name: 'add', parameters: { type: 'object' } }];
    const { message } = await model.generate({ ...question, tools, isTrained: false });
    expect(message.toolCalls).toEqual([{ id: expect.any(String), name: 'add', arguments: '{}' }]);
    expect(episode.finish().samples).toEqual([]);
  });
});

describe('counting the tokens of a prompt', () => {
  it('gives the number that the answer reports, and records nothing', async () => {
    const { model, finish, engine } = open();
    if (!isCountingChatModel(model)) throw new Error('the tuned model counts');
    const { message } = await model.generate(question);
    const request = { messages: [...question.messages, message, user('Sure?')] };
    const counts = [await model.countPromptTokens(request), await model.countPromptTokens(request)];
    const { usage } = await model.generate(request);
    expect(counts).toEqual([usage.promptTokens, usage.promptTokens]);
    expect(engine.requests).toHaveLength(2);
    expect(finish()).toMatchObject({ calls: { answered: 2, failed: 0 }, stats: { calls: 2, samples: 1, forks: {} } });
    await expect(model.countPromptTokens(request)).rejects.toMatchObject({ code: 'closed' });
  });
});

describe('a pattern of model names', () => {
  it.each([
    ['*haiku*', 'claude-haiku-4-5', true],
    ['*haiku*', 'haiku', true],
    ['*haiku*', 'claude-sonnet', false],
    ['*:untrained', 'any:UNTRAINED', true],
    ['*:untrained', ':untrained ', false],
    ['gpt-*-nano', 'gpt-5-nano', true],
    ['gpt-*-nano', 'gpt-nano', false],
    ['a*a', 'a', false],
    ['a*b*c', 'axxbxxc', true],
    ['a*b*c', 'axxcxxb', false],
    ['*', '', true],
    ['plain', 'plain', true],
    ['plain', 'plainer', false],
    ['a.c', 'abc', false],
  ])('%s and %j: %s', (pattern, name, expected) => {
    expect(isNamed(name, [pattern])).toBe(expected);
  });

  it('has nothing to match in a request without a name', () => {
    expect(isNamed(undefined, ['*'])).toBe(false);
  });
});
