import { ConfigError, Outage, type ChatResponse } from '@agentjet/core';
import { openScriptedEpisode, toolCallText, type ScriptedReply } from '@agentjet/rollout/testing';
import { describe, expect, it } from 'vitest';
import { asModel, InMemoryMemory, ReActAgent, Toolkit, withMessageHub, type Message } from './index.js';

const add = {
  name: 'add',
  description: 'Adds.',
  parameters: { type: 'object' },
  execute: ({ a, b }: Readonly<Record<string, unknown>>) => Number(a) + Number(b),
};
const user = (content: string): Message => ({ name: 'user', role: 'user', content });

function openAgent(
  replies: readonly ScriptedReply[],
  options: Partial<ConstructorParameters<typeof ReActAgent>[0]> = {},
) {
  const episode = openScriptedEpisode({ replies });
  const model = asModel(episode.tuner, { agentName: 'solver' });
  return { episode, agent: new ReActAgent({ name: 'solver', systemPrompt: 'Solve.', model, ...options }) };
}

describe('ReActAgent', () => {
  it('calls tools until the model answers, and shows it every result', async () => {
    const { agent, episode } = openAgent(
      [
        `${toolCallText('add', '{"a": 1, "b": 2}')}${toolCallText('add', '{"a": 3, "b": 4}')}`,
        toolCallText('add', '{"a": 3, "b": 7}'),
        'ten',
      ],
      { toolkit: new Toolkit([add]) },
    );
    expect(await agent.reply(user('1+2+3+4'))).toMatchObject({
      name: 'solver',
      role: 'assistant',
      content: 'ten',
      finishReason: 'stop',
    });
    expect(episode.engine.requests).toHaveLength(3);
    expect(episode.engine.requests[1]?.text).toMatch(/<tool_response>\n3\n<\/tool_response>\n<tool_response>\n7\n/);
  });

  it('keeps its turns as the model wrote them', async () => {
    const { agent } = openAgent([`<think>\nhm\n</think>\n\n${toolCallText('add', '{"b": 2,  "a":1.0}')}`, 'three'], {
      toolkit: new Toolkit([add]),
    });
    await agent.reply(user('1+2'));
    const messages = await agent.memory.messages();
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(messages[1]).toMatchObject({
      reasoning: expect.stringContaining('hm'),
      toolCalls: [{ arguments: '{"b": 2,  "a":1.0}' }],
    });
  });

  it('answers calls that go wrong with errors that the model can read', async () => {
    const broken = { name: 'broken', parameters: {}, execute: () => Promise.reject(new Error('out of order')) };
    const { agent } = openAgent([`${toolCallText('nope', '{}')}${toolCallText('broken', '{}')}`, 'I give up'], {
      toolkit: new Toolkit([add, broken]),
    });
    expect((await agent.reply(user('go'))).content).toBe('I give up');
    const results = (await agent.memory.messages()).filter(({ role }) => role === 'tool').map(({ content }) => content);
    expect(results).toEqual(['Error: there is no tool named "nope". Tools: add, broken.', 'Error: out of order']);
  });

  it.each([new Outage('the sandbox is away'), new ConfigError('missing_program', 'bubblewrap is not installed')])(
    'does not show the model errors that it did not cause: %s',
    async (error) => {
      const away = { name: 'away', parameters: {}, execute: () => Promise.reject(error) };
      const { agent } = openAgent([toolCallText('away', '{}'), 'I give up'], { toolkit: new Toolkit([away]) });
      await expect(agent.reply(user('go'))).rejects.toBe(error);
    },
  );

  it('stops after its number of model calls', async () => {
    const { agent, episode } = openAgent([toolCallText('add', '{"a": 1, "b": 1}')], {
      toolkit: new Toolkit([add]),
      maxIterations: 3,
    });
    expect((await agent.reply(user('count'))).finishReason).toBe('max_iterations');
    expect(episode.engine.requests).toHaveLength(3);
  });

  it('says that an answer was cut', async () => {
    const { agent } = openAgent(['many words in a row'], { sampling: { maxTokens: 2 } });
    expect((await agent.reply(user('talk'))).finishReason).toBe('length');
  });

  it('reads a structured answer, or leaves json undefined', async () => {
    const { agent } = openAgent(['{"move": 3}', 'three']);
    const options = { responseFormat: { type: 'json_object' } as const };
    expect((await agent.reply(user('move'), options)).json).toEqual({ move: 3 });
    expect(await agent.reply(user('move'), options)).toMatchObject({ content: 'three', json: undefined });
  });

  it('can be stopped in the middle of a tool, and in the middle of a call', async () => {
    const stop = new AbortController();
    const wait = { name: 'wait', parameters: {}, execute: () => stop.abort(new Error('enough')) };
    const { agent } = openAgent([toolCallText('wait', '{}'), 'done'], { toolkit: new Toolkit([wait]) });
    await expect(agent.reply(user('go'), { signal: stop.signal })).rejects.toThrow('enough');
    const { agent: slow, episode } = openAgent([{ text: 'slow answer', tokenDelayMs: 5 }]);
    const again = new AbortController();
    setTimeout(() => again.abort(), 8);
    await expect(slow.reply(user('go'), { signal: again.signal })).rejects.toMatchObject({ code: 'aborted' });
    expect(episode.finish().samples).toHaveLength(0);
  });

  it('calls its hooks', async () => {
    const seen: string[] = [];
    const hooks = {
      onDelta: ({ type }: { readonly type: string }) => void seen.push(type),
      onModelAnswer: ({ finishReason }: ChatResponse) => void seen.push(finishReason),
      onToolResult: ({ content }: { readonly content: string }) => void seen.push(`result ${content}`),
    };
    const { agent } = openAgent([toolCallText('add', '{"a": 1, "b": 2}'), 'a'], { toolkit: new Toolkit([add]), hooks });
    await agent.reply(user('go'));
    expect(seen).toEqual(['tool_call', 'tool_calls', 'result 3', 'content', 'stop']);
  });

  it('takes a memory of the user’s own', async () => {
    class Forgetful extends InMemoryMemory {
      override messages() {
        return super.messages().slice(-1);
      }
    }
    const { agent, episode } = openAgent(['a', 'b'], { memory: new Forgetful() });
    await agent.reply(user('first'));
    await agent.reply(user('second'));
    expect(episode.engine.requests[1]?.text).not.toContain('first');
  });
});

describe('Toolkit', () => {
  it('refuses two tools of one name', () => {
    expect(() => new Toolkit([add, add])).toThrow(/"add" is registered already/);
    const toolkit = new Toolkit([add]);
    toolkit.remove('add');
    expect(toolkit.register(add).specs).toEqual([
      { name: 'add', description: 'Adds.', parameters: { type: 'object' } },
    ]);
  });

  it('says what is wrong with arguments', async () => {
    const { content } = await new Toolkit([add]).call({ id: 'c', name: 'add', arguments: '[1, 2]' });
    expect(content).toBe('Error: the arguments of "add" are not a JSON object: [1, 2]');
  });

  it('shows a result as text, or as JSON', async () => {
    const results = ['plain', { a: [1] }, undefined, 4, null];
    const toolkit = new Toolkit(
      results.map((result, at) => ({ name: `t${at}`, parameters: {}, execute: () => result })),
    );
    const contents = await Promise.all(
      results.map((_result, at) => toolkit.call({ id: 'c', name: `t${at}`, arguments: '{}' })),
    );
    expect(contents.map(({ content }) => content)).toEqual(['plain', '{"a":[1]}', '', '4', 'null']);
  });
});

it('refuses values that are not a tool, a message or a model, with readable errors', async () => {
  expect(() => new Toolkit([{ name: 'add' } as never])).toThrow(
    '{"name":"add"} is not a tool. Pass { name, description, parameters, execute }.',
  );
  await expect(openAgent(['x']).agent.reply('hello' as never)).rejects.toThrow(
    '"hello" is not a message. Pass { name: "user"',
  );
  expect(() => new ReActAgent({ name: 'solver', systemPrompt: '' } as never)).toThrow(
    'Agent "solver" has no model. Pass model: asModel(tuner',
  );
});

describe('a message hub', () => {
  it('lets all others observe what one says, until it closes', async () => {
    const episode = openScriptedEpisode({ replies: ({ index }) => `word ${index}` });
    const [anna, bert, carl] = ['Anna', 'Bert', 'Carl'].map(
      (name) =>
        new ReActAgent({ name, systemPrompt: `You are ${name}.`, model: asModel(episode.tuner, { agentName: name }) }),
    );
    if (!anna || !bert || !carl) throw new Error('three agents');
    const announcement: Message = { name: 'Host', role: 'user', content: 'Night falls.' };
    await withMessageHub(
      [anna, bert],
      async (hub) => {
        await anna.reply();
        hub.add(carl);
        await bert.reply();
        hub.remove(carl);
        await anna.reply();
      },
      { announcement },
    );
    await bert.reply();
    const heard = async (agent: ReActAgent) => (await agent.memory.messages()).map(({ content }) => content);
    expect(await heard(anna)).toEqual(['Night falls.', 'word 0', 'Bert: word 1', 'word 2']);
    expect(await heard(bert)).toEqual(['Night falls.', 'Anna: word 0', 'word 1', 'Anna: word 2', 'word 3']);
    expect(await heard(carl)).toEqual(['Bert: word 1']);
    expect(episode.finish().stats.foreignMessages).toEqual({});
  });

  it('closes when the conversation fails', async () => {
    const { agent } = openAgent(['x']);
    const other = openAgent(['y']).agent;
    await expect(withMessageHub([agent, other], () => Promise.reject(new Error('quarrel')))).rejects.toThrow('quarrel');
    await agent.reply(user('hi'));
    expect(await other.memory.messages()).toEqual([]);
  });
});

describe('asModel', () => {
  it('returns the debug model itself for a target that does not learn', () => {
    const { tuner } = openScriptedEpisode({ replies: ['x'], trainableTargets: ['other'] });
    const debugModel = { name: 'debug', generate: () => Promise.reject(new Error('not asked')) };
    expect(asModel(tuner, { agentName: 'a', debugModel })).toBe(debugModel);
    expect(() => asModel(tuner, { agentName: 'a' })).toThrow(/No model for agent "a"/);
  });
});
