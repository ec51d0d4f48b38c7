import { EngineError, type ChatDelta, type ChatModel, type ChatRequest } from '@agentjet/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openScriptedEpisode, type ScriptedEpisodeOptions, type ScriptedReply } from '../testing.js';

const ask: ChatRequest = { messages: [{ role: 'user', content: 'hi' }] };
const callText = (name: string, args: string): string =>
  `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`;
const tools = [{ name: 'add', parameters: { type: 'object' } }];

function open(replies: ScriptedEpisodeOptions['replies'], options: Partial<ScriptedEpisodeOptions> = {}) {
  const episode = openScriptedEpisode({ ...options, replies });
  const agent = (agentName: string): ChatModel => episode.tuner.selectModel({ agentName }, (model) => model);
  return { ...episode, agent, model: agent('solver') };
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof EngineError ? error.code : `no EngineError: ${String(error)}`;
}

describe('an answer', () => {
  it('carries usage, logprobs and the finish reason of the completion', async () => {
    const { model, engine, finish } = open(['hello there']);
    const response = await model.generate(ask);
    const [seen] = engine.requests;
    expect(response).toMatchObject({
      message: { role: 'assistant', content: 'hello there' },
      finishReason: 'stop',
      model: 'agentjet/solver',
    });
    expect(response.usage).toEqual({
      promptTokens: seen?.request.promptIds.length,
      completionTokens: seen?.completion?.ids.length,
    });
    expect(response.logprobs?.map(({ id }) => id)).toEqual([...(seen?.completion?.ids ?? [])]);
    expect(response.logprobs?.map(({ logprob }) => logprob)).toEqual([...(seen?.completion?.logprobs ?? [])]);
    expect(finish()).toMatchObject({ calls: { answered: 1 }, samples: [{ agentName: 'solver', targetTag: 'solver' }] });
  });

  it('streams deltas that add up to the message', async () => {
    const { model } = open([`<think>\nhm\n</think>\n\nSo: ${callText('add', '{"a": 1}')}`]);
    const deltas: ChatDelta[] = [];
    const { message } = await model.generate({ ...ask, tools }, { onDelta: (delta) => deltas.push(delta) });
    const join = (type: 'content' | 'reasoning'): string =>
      deltas.map((delta) => (delta.type === type ? delta.text : '')).join('');
    expect(join('content')).toBe(message.content);
    expect(join('reasoning')).toBe(message.reasoning);
    expect(deltas.filter(({ type }) => type === 'tool_call')).toEqual(
      message.toolCalls?.map((toolCall, index) => ({ type: 'tool_call', index, toolCall })),
    );
  });

  it('counts its mistakes, in the same way if it is streamed', async () => {
    const replies = [callText('add', '{"a": '), callText('nope', '{}'), 'not json', callText('add', '{"a": 1}')];
    const counts = await Promise.all(
      [undefined, () => {}].map(async (onDelta) => {
        const { model, finish } = open(replies);
        for (const responseFormat of [undefined, undefined, { type: 'json_object' as const }, undefined]) {
          await model.generate(
            { ...ask, tools, ...(responseFormat && { responseFormat }) },
            onDelta === undefined ? {} : { onDelta },
          );
        }
        return finish().calls;
      }),
    );
    expect(counts[0]).toMatchObject({
      answered: 4,
      malformedToolCalls: 1,
      unknownTools: 1,
      malformedJson: 1,
      malformedArguments: 0,
    });
    expect(counts[1]).toEqual(counts[0]);
  });
});

describe('sampling', () => {
  it('comes from the request, then from the defaults', async () => {
    const { model, engine } = open(['x'], { sampling: { temperature: 0.9, topP: 0.8, topK: -1, maxTokens: 77 } });
    await model.generate(ask);
    await model.generate({ ...ask, sampling: { temperature: 0, topK: 5, maxTokens: 3, seed: 12 } });
    expect(engine.requests[0]?.request.sampling).toMatchObject({ temperature: 0.9, topP: 0.8, topK: 0, maxTokens: 77 });
    expect(engine.requests[1]?.request.sampling).toMatchObject({
      temperature: 0,
      topP: 0.8,
      topK: 5,
      maxTokens: 3,
      seed: 12,
    });
  });

  it('has a seed for each call that depends on the episode, the agent and the number of the call alone', async () => {
    const seedsOf = async (seed: number, order: readonly string[]) => {
      const { agent, engine } = open(['x'], { seed });
      for (const name of order) await agent(name).generate(ask);
      const seeds = engine.requests.map(({ request }) => request.sampling.seed);
      return order
        .map((name, at) => [name, seeds[at] ?? -1] as const)
        .sort(([left], [right]) => (left < right ? -1 : 1));
    };
    const seeds = await seedsOf(1, ['a', 'b', 'a', 'b']);
    expect(new Set(seeds.map(([, seed]) => seed)).size).toBe(4);
    expect(await seedsOf(1, ['b', 'b', 'a', 'a'])).toEqual(seeds);
    expect(await seedsOf(2, ['a', 'b', 'a', 'b'])).not.toEqual(seeds);
  });

  it.each([
    { temperature: -1 },
    { temperature: NaN },
    { topP: 0 },
    { topP: 1.5 },
    { topK: 0.5 },
    { maxTokens: 0 },
    { seed: 0.1 },
    { stop: [''] },
    { stop: 'x' as never },
  ])('refuses %o by name', async (sampling) => {
    const { model, engine } = open(['x']);
    await expect(model.generate({ ...ask, sampling })).rejects.toThrow(new RegExp(Object.keys(sampling)[0] ?? ''));
    expect(engine.requests).toHaveLength(0);
  });

  it('stops at the context length, with the finish reason length', async () => {
    const { model, engine } = open(['a very long answer '.repeat(20)], { contextLength: 60 });
    const response = await model.generate(ask);
    expect(response.finishReason).toBe('length');
    expect(response.usage.promptTokens + response.usage.completionTokens).toBe(60);
    expect(engine.requests[0]?.request.sampling.maxTokens).toBe(60 - response.usage.promptTokens);
  });

  it('refuses a prompt over the context length, to that call alone', async () => {
    const { model, finish } = open(['x'], { contextLength: 60 });
    expect(await codeOf(model.generate({ messages: [{ role: 'user', content: 'word '.repeat(100) }] }))).toBe(
      'context_overflow',
    );
    expect((await model.generate(ask)).message.content).toBe('x');
    expect(finish()).toMatchObject({ calls: { answered: 1, failed: 1 }, samples: [{}] });
  });
});

describe('stop texts', () => {
  it('end the answer before the text, wherever the token border is, streamed or not', async () => {
    for (const stop of ['STOP', 'OP', ' wo STOP', 'T']) {
      const { model } = open(['one two wo STOP three']);
      let streamed = '';
      const request = { ...ask, sampling: { stop: ['never', stop] } };
      const { message, finishReason } = await model.generate(request, {
        onDelta: (delta) => (streamed += delta.type === 'content' ? delta.text : ''),
      });
      const expected = 'one two wo STOP three'.slice(0, 'one two wo STOP three'.indexOf(stop));
      expect([message.content, streamed, finishReason]).toEqual([expected, expected, 'stop']);
      expect((await open(['one two wo STOP three']).model.generate(request)).message.content).toBe(expected);
    }
  });

  it.each<readonly [string, string, string, { readonly reasoning?: string; readonly content: string }]>([
    [
      'inside thinking',
      '<think>\na STOP b\n</think>\n\none STOP two',
      'STOP',
      { reasoning: 'a STOP b', content: 'one ' },
    ],
    [
      'the newlines of thinking',
      '<think>\n\na\n\nb\n</think>\n\none\n\ntwo',
      '\n\n',
      { reasoning: 'a\n\nb', content: 'one' },
    ],
    ['the tags of thinking', '<think>\na\n</think>\n\n1</think>2', '</think>', { reasoning: 'a', content: '1' }],
    ['half in thinking', '<think>\na ST</think>OP STOP b', 'STOP', { reasoning: 'a ST', content: 'OP ' }],
    ['only in thinking', '<think>\na STOP b\n</think>\n\none', 'STOP', { reasoning: 'a STOP b', content: 'one' }],
    ['thinking that does not end', '<think>\na STOP b', 'STOP', { reasoning: 'a STOP b', content: '' }],
    ['text that begins as thinking does', '<thin STOP', '<thi', { content: '' }],
    ['a whole answer that could become thinking', '<', '<', { content: '' }],
    ['one token twice', 'one\n\n\n\ntwo', '\n', { content: 'one' }],
  ])('%s: only the answer ends before the text', async (_, text, stop, expected) => {
    for (const tokenDelayMs of [undefined, 0]) {
      const { model } = open([{ text, ...(tokenDelayMs !== undefined && { tokenDelayMs }) }]);
      const streamed = { reasoning: '', content: '' };
      const request = { ...ask, sampling: { stop: ['never', stop] } };
      const { message } = await model.generate(request, {
        onDelta: (delta) => {
          if (delta.type !== 'tool_call') streamed[delta.type] += delta.text;
        },
      });
      expect(message).toEqual({ role: 'assistant', ...expected });
      expect(streamed).toEqual({ reasoning: '', ...expected });
      expect((await open([text]).model.generate(request)).message).toEqual(message);
    }
  });

  it('are not searched for in the opening of a forced call', async () => {
    const { model } = open([' "add", "arguments": {"a": 1}}\n</tool_call>']);
    const request = { ...ask, tools, toolChoice: 'required' as const, sampling: { stop: ['{"name"'] } };
    const { message } = await model.generate(request);
    expect(message.toolCalls).toMatchObject([{ name: 'add', arguments: '{"a": 1}' }]);
  });

  it('keep the sampled tokens of the text in the record', async () => {
    const { model, finish, chatTokenizer } = open(['one STOP two']);
    const response = await model.generate({ ...ask, sampling: { stop: ['STOP'] } });
    const [sample] = finish().samples;
    const trained = sample?.ids.filter((_id, at) => sample.lossMask[at] === 1) ?? [];
    expect(chatTokenizer.tokenizer.decode([...trained])).toBe('one STOP');
    expect(response.usage.completionTokens).toBe(trained.length);
    expect(response.stopText).toBe('STOP');
    expect(await open(['one']).model.generate({ ...ask, sampling: { stop: ['STOP'] } })).not.toHaveProperty('stopText');
  });

  it('change nothing if they do not come, and deltas still add up', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.stringMatching(/^[abc]{0,12}$/),
        fc.array(fc.stringMatching(/^[abc]{1,4}$/), { minLength: 1, maxLength: 3 }),
        async (text, stop) => {
          const { model } = open([text]);
          let streamed = '';
          const { message } = await model.generate(
            { ...ask, sampling: { stop } },
            { onDelta: (delta) => (streamed += delta.type === 'content' ? delta.text : '') },
          );
          expect(streamed).toBe(message.content);
          if (!stop.some((one) => text.includes(one))) expect(message.content).toBe(text);
          else expect(stop.some((one) => message.content.includes(one))).toBe(false);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('an aborted call', () => {
  const slow: ScriptedReply = { text: 'a slow answer with several tokens', tokenDelayMs: 2 };

  it('rejects, frees the slot and leaves no sample', async () => {
    const { model, engine, finish } = open([slow]);
    const controller = new AbortController();
    const answer = model.generate(ask, { signal: controller.signal });
    setTimeout(() => controller.abort(), 5);
    expect(await codeOf(answer)).toBe('aborted');
    expect(engine.numRunning).toBe(0);
    expect(finish()).toMatchObject({ samples: [], calls: { aborted: 1, answered: 0 } });
  });

  it('leaves no sample when the engine was faster than the abort', async () => {
    const controller = new AbortController();
    const { model, finish } = open(() => {
      controller.abort();
      return 'too late';
    });
    expect(await codeOf(model.generate(ask, { signal: controller.signal }))).toBe('aborted');
    expect(finish().samples).toHaveLength(0);
  });

  it('does not start when the signal is aborted already', async () => {
    const { model, engine } = open(['x']);
    expect(await codeOf(model.generate(ask, { signal: AbortSignal.abort() }))).toBe('aborted');
    expect(engine.requests).toHaveLength(0);
  });

  it('ends with its episode, and later calls are refused', async () => {
    const { model, end, finish } = open([slow]);
    const answer = model.generate(ask);
    setTimeout(end, 5);
    expect(await codeOf(answer)).toBe('closed');
    await expect(model.generate(ask)).rejects.toThrow(/has ended/);
    expect(finish().samples).toHaveLength(0);
  });

  it('ends with the error of its onDelta, and leaves no sample', async () => {
    const { model, engine, finish } = open([slow]);
    const onDelta = (): never => {
      throw new RangeError('the screen is full');
    };
    await expect(model.generate(ask, { onDelta })).rejects.toThrow(new RangeError('the screen is full'));
    expect(engine.numRunning).toBe(0);
    expect(finish().samples).toHaveLength(0);
  });

  it('keeps no listener on the signals', async () => {
    const { model } = open(['x']);
    const controller = new AbortController();
    const counts = { added: 0, removed: 0 };
    const { signal } = controller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => (counts.added++, add(...args));
    signal.removeEventListener = (...args: Parameters<typeof remove>) => (counts.removed++, remove(...args));
    await model.generate(ask, { signal });
    expect(counts.removed).toBe(counts.added);
  });
});

describe('a repeated request', () => {
  it('gets the first answer, in flight or done, and makes one sample', async () => {
    const { model, engine, finish } = open([{ text: 'first', tokenDelayMs: 1 }, 'second']);
    const request = { ...ask, requestId: 'r1' };
    let streamed = '';
    const answers = await Promise.all([
      model.generate(request),
      model.generate(request, { onDelta: (delta) => (streamed += delta.type === 'content' ? delta.text : '') }),
    ]);
    answers.push(await model.generate(request));
    expect(answers.map(({ message }) => message.content)).toEqual(['first', 'first', 'first']);
    expect(streamed).toBe('first');
    expect(engine.requests).toHaveLength(1);
    expect(finish()).toMatchObject({ calls: { answered: 1, repeated: 2 }, samples: [{}] });
  });

  it('is a new attempt if the first failed', async () => {
    const { model, finish } = open([{ text: '', error: new Error('busy') }, 'fine']);
    const request = { ...ask, requestId: 'r1' };
    const [first, second] = await Promise.allSettled([model.generate(request), model.generate(request)]);
    expect([first.status, second.status]).toEqual(['rejected', 'fulfilled']);
    expect(finish()).toMatchObject({ calls: { failed: 1, answered: 1 }, samples: [{}] });
  });

  it.each<readonly [string, Partial<ChatRequest>]>([
    ['messages', { messages: [...ask.messages, { role: 'assistant', content: 'x' }, { role: 'user', content: 'b' }] }],
    ['tools', { tools }],
    ['sampling options', { sampling: { temperature: 0 } }],
    ['sampling options', { sampling: { stop: ['x'] } }],
    ['response format', { responseFormat: { type: 'json_object' } }],
    ['tool choice', { toolChoice: 'none' }],
    ['parallel tool calls', { parallelToolCalls: false }],
    ['train option', { isTrained: false }],
    ['model name', { model: 'small' }],
  ])('with other %s is an error, in flight or done', async (name, change) => {
    const { model, engine, finish } = open([{ text: 'first', tokenDelayMs: 1 }]);
    const first = model.generate({ ...ask, requestId: 'r1' });
    const other = { ...ask, ...change, requestId: 'r1' };
    const problem = `The request id "r1" was used with another request: the ${name} differ.`;
    await expect(model.generate(other)).rejects.toThrow(problem);
    expect((await first).message.content).toBe('first');
    await expect(model.generate(other)).rejects.toMatchObject({ code: 'bad_request' });
    expect(engine.requests).toHaveLength(1);
    expect(finish().calls).toMatchObject({ answered: 1, repeated: 0, failed: 2 });
  });

  it('is another call in each step of an agent, which gives one id to all of them', async () => {
    const { model, engine } = open([callText('add', '{"a": 1}'), 'one', 'two']);
    const first = await model.generate({ ...ask, tools, requestId: 'r1' });
    const result = { role: 'tool', content: '1', toolCallId: first.message.toolCalls?.[0]?.id ?? '' } as const;
    const step = { messages: [...ask.messages, first.message, result], tools, requestId: 'r1' };
    const answers = [await model.generate(step), await model.generate(step)];
    expect(answers.map(({ message }) => message.content)).toEqual(['one', 'one']);
    expect(engine.requests).toHaveLength(2);
  });

  it('is compared with what was sent, although the agent has changed its messages since', async () => {
    const { model } = open(['x']);
    const messages: ChatRequest['messages'][number][] = [...ask.messages];
    const answer = await model.generate({ messages, requestId: 'r1' });
    messages.push(answer.message, { role: 'user', content: 'more' });
    expect(await codeOf(model.generate({ messages, requestId: 'r1' }))).toBe('bad_request');
  });

  it('can itself be aborted while it waits', async () => {
    const { model } = open([{ text: 'a slow answer', tokenDelayMs: 3 }]);
    const request = { ...ask, requestId: 'r1' };
    const first = model.generate(request);
    const controller = new AbortController();
    const second = model.generate(request, { signal: controller.signal });
    controller.abort();
    expect(await codeOf(second)).toBe('aborted');
    expect((await first).message.content).toBe('a slow answer');
  });

  it('belongs to its agent, and equal requests without an id are separate calls', async () => {
    const { agent, engine } = open(['x']);
    await Promise.all([
      agent('a').generate({ ...ask, requestId: 'r1' }),
      agent('b').generate({ ...ask, requestId: 'r1' }),
      agent('a').generate(ask),
      agent('a').generate(ask),
    ]);
    expect(engine.requests).toHaveLength(4);
  });
});

describe('wishes beyond sampling', () => {
  it('tool choice none hides the tools', async () => {
    const { model, engine } = open(['x']);
    await model.generate({ ...ask, tools });
    await model.generate({ ...ask, tools, toolChoice: 'none' });
    expect(engine.requests.map(({ text }) => text.includes('"add"'))).toEqual([true, false]);
  });

  it('tool choice required or a name begins the call for the model, which is not trained on that', async () => {
    for (const [toolChoice, said] of [
      ['required', ' "add", "arguments": {"a": 1}}\n</tool_call>'],
      [{ name: 'add' }, ' {"a": 1}}\n</tool_call>'],
    ] as const) {
      const { model, engine, finish, chatTokenizer } = open([said]);
      const deltas: ChatDelta[] = [];
      const response = await model.generate({ ...ask, tools, toolChoice }, { onDelta: (delta) => deltas.push(delta) });
      expect(response).toMatchObject({
        finishReason: 'tool_calls',
        message: { content: '', toolCalls: [{ name: 'add', arguments: '{"a": 1}' }] },
      });
      expect(deltas).toMatchObject([{ type: 'tool_call' }]);
      expect(engine.requests[0]?.text).toMatch(/<tool_call>\n\{"name":( "add", "arguments":)?$/);
      const [sample] = finish().samples;
      const trained = sample?.ids.filter((_id, at) => sample.lossMask[at] === 1) ?? [];
      expect(chatTokenizer.tokenizer.decode([...trained])).toBe(`${said}<|im_end|>`);
    }
  });

  it('a tool choice without its tool is refused', async () => {
    const { model } = open(['x']);
    await expect(model.generate({ ...ask, toolChoice: 'required' })).rejects.toThrow(
      /Tool choice required has no tool to call: the request has none/,
    );
    await expect(model.generate({ ...ask, tools, toolChoice: { name: 'nope' } })).rejects.toThrow(
      /Tool choice "nope" has no tool to call: the request has add/,
    );
  });

  it('without parallel tool calls the answer ends with its first call, streamed or not, and all that was sampled is trained', async () => {
    const first = callText('add', '{"a": 1}');
    for (const onDelta of [undefined, () => {}]) {
      const { model, engine, finish } = open([`Sum. ${first}\n${callText('add', '{"a": 2}')}`, 'done']);
      const { message, finishReason } = await model.generate(
        { ...ask, tools, parallelToolCalls: false },
        onDelta && { onDelta },
      );
      expect([message.content, message.toolCalls, finishReason]).toEqual([
        'Sum. ',
        [{ id: expect.any(String), name: 'add', arguments: '{"a": 1}' }],
        'tool_calls',
      ]);
      const result = { role: 'tool' as const, content: '1', toolCallId: message.toolCalls?.[0]?.id ?? '' };
      await model.generate({ messages: [...ask.messages, message, result], tools });
      const sampled = engine.requests[0]?.completion?.ids.length ?? 0;
      expect(engine.requests[1]?.text.startsWith(`${engine.requests[0]?.text}Sum. ${first}`)).toBe(true);
      const { stats } = finish();
      expect([stats.samples, stats.trainedTokens]).toEqual([
        1,
        sampled + (engine.requests[1]?.completion?.ids.length ?? 0),
      ]);
    }
  });

  it('a response format is in the system message', async () => {
    const { model, engine } = open(['{}']);
    const schema = { type: 'object', properties: { answer: { type: 'number' } } };
    await model.generate({
      messages: [{ role: 'system', content: 'Be brief.' }, ...ask.messages],
      responseFormat: { type: 'json_schema', name: 'sum', schema },
    });
    expect(engine.requests[0]?.text).toContain('Be brief.\n\nAnswer with one JSON object');
    expect(engine.requests[0]?.text).toContain(JSON.stringify(schema));
  });

  it('an engine error that is not ours becomes one, with its cause', async () => {
    const cause = new Error('device lost');
    const { model } = open([{ text: '', error: cause }]);
    await expect(model.generate(ask)).rejects.toMatchObject({ code: 'failed', cause });
  });
});
