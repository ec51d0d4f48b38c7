import {
  openScriptedEpisode,
  toolCallText,
  extendsPrevious,
  type ScriptedEpisodeOptions,
} from '@agentjet/rollout/testing';
import { ContextOverflowError, ModelAbortError } from '@langchain/core/errors';
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  ChatMessage,
  HumanMessage,
  ToolMessage,
  trimMessages,
} from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { MemorySaver } from '@langchain/langgraph';
import { createAgent, toolStrategy } from 'langchain';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { asModel } from './index.js';

const calculate = tool(({ a, b }) => String(a + b), {
  name: 'add',
  description: 'Adds.',
  schema: z.object({ a: z.number(), b: z.number() }),
});

function openModel(replies: ScriptedEpisodeOptions['replies'], options: { readonly contextLength?: number } = {}) {
  const episode = openScriptedEpisode({ replies, ...options });
  return { episode, model: asModel(episode.tuner, { agentName: 'solver' }) };
}

async function collect(
  stream: AsyncIterable<AIMessageChunk>,
): Promise<{ readonly pieces: readonly string[]; readonly whole: AIMessageChunk }> {
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const [first, ...rest] = chunks;
  if (first === undefined) throw new Error('no chunks');
  return { pieces: chunks.map((chunk) => chunk.text), whole: rest.reduce((sum, chunk) => sum.concat(chunk), first) };
}

describe('one call', () => {
  it('answers as an AIMessage with usage, finish reason, logprobs and metadata', async () => {
    const { model, episode } = openModel(['hello there']);
    const answer = await model.invoke('hi');
    expect([AIMessage.isInstance(answer), AIMessageChunk.isInstance(answer)]).toEqual([true, false]);
    expect(answer.text).toBe('hello there');
    const [request] = episode.engine.requests;
    expect(answer.usage_metadata).toEqual({
      input_tokens: request?.request.promptIds.length,
      output_tokens: request?.completion?.ids.length,
      total_tokens: expect.any(Number),
    });
    expect(answer.response_metadata).toMatchObject({ finish_reason: 'stop', model_name: 'agentjet/solver' });
    expect((answer.response_metadata['logprobs'] as { content: unknown[] }).content).toHaveLength(
      request?.completion?.ids.length ?? 0,
    );
  });

  it('streams what the engine makes, and the pieces make the same message as the whole', async () => {
    const reply = `<think>\nadd them\n</think>\n\nSumming. ${toolCallText('add', '{"b": 2,  "a":1.0}')}${toolCallText('add', '{"a": 3, "b": 4}')}`;
    const streamed = openModel([{ text: reply, tokenDelayMs: 0 }]);
    const { pieces, whole } = await collect(await streamed.model.stream('hi'));
    expect(pieces.filter((piece) => piece !== '').length).toBeGreaterThan(1);
    const invoked = await openModel([reply]).model.invoke('hi');
    const withoutIds = (message: AIMessageChunk) => ({
      ...message,
      id: 0,
      tool_calls: message.tool_calls?.map(({ id: _id, ...rest }) => rest),
    });
    expect(whole.usage_metadata).toMatchObject(invoked.usage_metadata ?? {});
    for (const field of ['content', 'tool_calls', 'invalid_tool_calls'] as const)
      expect(withoutIds(whole)[field]).toEqual(withoutIds(invoked)[field]);
    expect(whole.additional_kwargs).toMatchObject({
      reasoning_content: invoked.additional_kwargs['reasoning_content'],
    });
    expect(whole.tool_calls).toMatchObject([
      { name: 'add', args: { a: 1, b: 2 } },
      { name: 'add', args: { a: 3, b: 4 } },
    ]);
  });

  it('frees the slot and leaves no sample when the reader leaves the stream', async () => {
    const { model, episode } = openModel([{ text: 'a long answer that nobody reads to the end', tokenDelayMs: 1 }]);
    for await (const _chunk of await model.stream('hi')) break;
    await expect.poll(() => episode.engine.numRunning).toBe(0);
    expect(episode.engine.requests[0]?.outcome).toBe('aborted');
    expect(episode.finish().samples).toHaveLength(0);
  });

  it('passes sampling on, from the call, withConfig and asModel', async () => {
    const episode = openScriptedEpisode({ replies: ['one two three STOP four'] });
    const model = asModel(episode.tuner, { agentName: 'solver', sampling: { temperature: 0.3, topP: 0.9 } });
    const answer = await model
      .withConfig({ seed: 7 })
      .invoke('hi', { temperature: 0.5, maxTokens: 50, stop: ['STOP'] });
    expect(episode.engine.requests[0]?.request.sampling).toMatchObject({
      temperature: 0.5,
      topP: 0.9,
      seed: 7,
      maxTokens: 50,
    });
    expect(answer.text).toBe('one two three ');
  });

  it('says length for a truncated answer', async () => {
    const { model } = openModel(['far too many words']);
    expect((await model.invoke('hi', { maxTokens: 2 })).response_metadata).toMatchObject({ finish_reason: 'length' });
  });

  it('gives n answers from generate, each with its own seed', async () => {
    const { model, episode } = openModel(['one']);
    const result = await model.generate([[new HumanMessage('hi')]], { n: 3 });
    expect(result.generations[0]).toHaveLength(3);
    expect(new Set(episode.engine.requests.map(({ request }) => request.sampling.seed)).size).toBe(3);
  });
});

describe('errors', () => {
  it('of one of n answers end the others', async () => {
    const { model, episode } = openModel([
      { text: 'slow answer of several tokens', tokenDelayMs: 5 },
      { text: '', error: new Error('device lost') },
    ]);
    await expect(model.generate([[new HumanMessage('hi')]], { n: 2 })).rejects.toThrow(/device lost/);
    await expect.poll(() => episode.engine.requests.map(({ outcome }) => outcome)).toEqual(['aborted', 'failed']);
    expect(episode.finish().samples).toHaveLength(0);
  });

  it('surfaces a context overflow as ContextOverflowError, for that call alone', async () => {
    const { model } = openModel(['fine'], { contextLength: 60 });
    const error = await model.invoke('word '.repeat(100)).catch((thrown: unknown) => thrown);
    expect(ContextOverflowError.isInstance(error)).toBe(true);
    expect((await model.invoke('hi')).text).toBe('fine');
  });

  it('aborts by signal', async () => {
    const controller = new AbortController();
    const { model, episode } = openModel(
      () => (setTimeout(() => controller.abort(), 8), { text: 'slow answer', tokenDelayMs: 5 }),
    );
    const answer = model.invoke('hi', { signal: controller.signal });
    await expect(answer).rejects.toThrow(/abort/i);
    await expect.poll(() => episode.engine.requests[0]?.outcome).toBe('aborted');
    expect(episode.finish().samples).toHaveLength(0);
  });

  it('is closed after the episode', async () => {
    const { model, episode } = openModel(['late']);
    episode.end();
    const error = await model.invoke('hi').catch((thrown: unknown) => thrown);
    expect(ModelAbortError.isInstance(error)).toBe(true);
    expect((error as Error).message).toMatch(/has ended/);
  });

  it('does not retry an engine error', async () => {
    const { model, episode } = openModel([{ text: '', error: new Error('device lost') }]);
    await expect(model.invoke('hi')).rejects.toThrow(/device lost/);
    expect(episode.engine.requests).toHaveLength(1);
  });

  it('refuses what it cannot show to the model', async () => {
    const { model } = openModel(['x']);
    const image = new HumanMessage({
      content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
    });
    await expect(model.invoke([image])).rejects.toThrow(/image_url/);
  });
});

describe('agents', () => {
  const replies = [
    `<think>\nhard\n</think>\n\n ${toolCallText('add', '{"b": 2,  "a":1.0}')}${toolCallText('add', '{"a": 3,"b": 4, "note": "\\u00e9 \\/"}')}`,
    ' It is 3 and 7.\n',
  ];

  it.each(['invoke', 'stream'] as const)('continues exactly what the model wrote (%s)', async (mode) => {
    const { model, episode } = openModel(replies);
    const agent = createAgent({ model, tools: [calculate], systemPrompt: 'Add.', name: 'adder' });
    const input = { messages: [new HumanMessage('1+2 and 3+4')] };
    let last: readonly BaseMessage[] = [];
    if (mode === 'invoke') last = (await agent.invoke(input)).messages;
    else
      for await (const state of await agent.stream(input, { streamMode: 'values' }))
        last = (state as { messages: BaseMessage[] }).messages;
    expect(last.at(-1)?.text.trim()).toBe('It is 3 and 7.');
    expect(last.filter((message) => ToolMessage.isInstance(message)).map(({ text }) => text)).toEqual(['3', '7']);
    expect(extendsPrevious(episode, 1)).toBe(true);
  });

  it('continues exactly after a checkpoint', async () => {
    // There is no thinking here, because this template removes it from earlier turns.
    const { model, episode } = openModel([
      ...replies.map((reply) => reply.replace(/<think>[^]*<\/think>/, '')),
      'You are welcome.',
    ]);
    const agent = createAgent({ model, tools: [calculate], checkpointer: new MemorySaver() });
    const config = { configurable: { thread_id: 'one' } };
    await agent.invoke({ messages: [new HumanMessage('1+2 and 3+4')] }, config);
    await agent.invoke({ messages: [new HumanMessage('thanks')] }, config);
    expect(episode.engine.requests).toHaveLength(3);
    expect(extendsPrevious(episode, 1) && extendsPrevious(episode, 2)).toBe(true);
  });

  it.each(['invoke', 'messages'] as const)(
    'ends the same way on malformed arguments, streamed or not (%s)',
    async (mode) => {
      const { model, episode } = openModel([toolCallText('add', '{"a": 1, "b": '), 'never']);
      const agent = createAgent({ model, tools: [calculate] });
      const input = { messages: [new HumanMessage('go')] };
      if (mode === 'invoke') await agent.invoke(input);
      else for await (const _part of await agent.stream(input, { streamMode: 'messages' }));
      expect(episode.engine.requests).toHaveLength(1);
    },
  );

  it.each(['invoke', 'messages'] as const)(
    'continues exactly after arguments that its tool refuses (%s)',
    async (mode) => {
      const { model, episode } = openModel([toolCallText('add', '{"a": "one",  "zzz": 1}'), 'sorry']);
      const agent = createAgent({ model, tools: [calculate] });
      const input = { messages: [new HumanMessage('go')] };
      if (mode === 'invoke') await agent.invoke(input);
      else for await (const _part of await agent.stream(input, { streamMode: 'messages' }));
      expect(episode.engine.requests).toHaveLength(2);
      expect(extendsPrevious(episode, 1)).toBe(true);
    },
  );

  it('lets an edited turn be what it has become', async () => {
    const { model, episode } = openModel(['secret 42', 'ok']);
    const first = await model.invoke('hi');
    first.content = 'secret [redacted]';
    await model.invoke([new HumanMessage('hi'), first, new HumanMessage('go on')]);
    expect(episode.engine.requests[1]?.text).toContain('secret [redacted]');
    expect(episode.engine.requests[1]?.text).not.toContain('42');
  });

  it('shows a foreign assistant message as it is', async () => {
    const { model, episode } = openModel(['ok']);
    await model.invoke([
      new HumanMessage('hi'),
      new AIMessage({ content: '', tool_calls: [{ id: 'x1', name: 'add', args: { a: 1, b: 2 } }] }),
      new ToolMessage({ content: '3', tool_call_id: 'x1' }),
    ]);
    expect(episode.engine.requests[0]?.text).toMatch(/"name": "add", "arguments": \{"a": ?1, ?"b": ?2\}/);
  });
});

describe('structured output', () => {
  const schema = z.object({ answer: z.number() });

  it('reads JSON text', async () => {
    const { model } = openModel(['{"answer": 4}']);
    expect(await model.withStructuredOutput(schema, { method: 'jsonSchema' }).invoke('2+2')).toEqual({ answer: 4 });
  });

  it('keeps the raw message where it cannot be read', async () => {
    const { model, episode } = openModel(['four']);
    const result = await model.withStructuredOutput(schema, { method: 'jsonSchema', includeRaw: true }).invoke('2+2');
    expect(result).toMatchObject({ parsed: null, raw: { content: 'four' } });
    expect(episode.finish().calls.malformedJson).toBe(1);
  });

  it('is the answer of an agent, asked for as JSON text', async () => {
    const { model, episode } = openModel([toolCallText('add', '{"a": 2, "b": 2}'), '{"answer": 4}']);
    const agent = createAgent({ model, tools: [calculate], responseFormat: schema });
    expect((await agent.invoke({ messages: [new HumanMessage('2+2')] })).structuredResponse).toEqual({ answer: 4 });
    expect(extendsPrevious(episode, 1)).toBe(true);
  });

  it('reads a tool call', async () => {
    const { model, episode } = openModel([' {"answer": 4}}\n</tool_call>', ' {"answer": "four"}}\n</tool_call>']);
    const structured = model.withStructuredOutput(schema);
    expect(await structured.invoke('2+2')).toEqual({ answer: 4 });
    expect(episode.engine.requests[0]?.text).toMatch(/<tool_call>\n\{"name": "extract", "arguments":$/);
    await expect(structured.invoke('2+2')).rejects.toThrow(/expected number|invalid_type/);
  });

  it('is the answer of an agent that is asked by a tool call', async () => {
    const strategy = toolStrategy(schema);
    const name = (strategy as unknown as readonly { readonly name: string }[])[0]?.name ?? '';
    const forced = openModel([` "${name}", "arguments": {"answer": 4}}\n</tool_call>`]);
    const agent = createAgent({ model: forced.model, tools: [], responseFormat: strategy });
    expect((await agent.invoke({ messages: [new HumanMessage('2+2')] })).structuredResponse).toEqual({ answer: 4 });
  });
});

describe('tools of every form', () => {
  const parameters = { type: 'object', properties: { a: { type: 'number' } } };
  const forms = {
    'OpenAI’s': { type: 'function', function: { name: 'add', description: 'Adds.', parameters } },
    'OpenAI’s without parameters': { type: 'function', function: { name: 'add', description: 'Adds.' } },
    'the content of OpenAI’s': { name: 'add', description: 'Adds.', parameters },
    'Anthropic’s': { name: 'add', description: 'Adds.', input_schema: parameters },
    'LangChain’s, as an object': { name: 'add', description: 'Adds.', schema: z.object({ a: z.number() }) },
  };

  it.each(Object.entries(forms))('%s', async (_form, form) => {
    const { model, episode } = openModel([toolCallText('add', '{"a": 1}')]);
    expect((await model.bindTools([form]).invoke('hi')).tool_calls).toHaveLength(1);
    expect(episode.engine.requests[0]?.text).toMatch(/"name": "add", "description": "Adds\."/);
  });

  it.each([[{ type: 'computer_use' }], [{ functionDeclarations: [{ name: 'add' }] }], [null], [z.object({})]])(
    'refuses one that is not a tool: %j',
    async (form) => {
      const { model } = openModel(['x']);
      await expect(model.bindTools([form as never]).invoke('hi')).rejects.toThrow(
        /The tool .* cannot be called by the model\. Use tool\(\.\.\.\)/,
      );
    },
  );

  it('are chosen in the words of every provider', async () => {
    for (const tool_choice of ['any', 'required', { type: 'any' }, { type: 'required' }]) {
      const { model } = openModel([' "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>']);
      expect((await model.bindTools([calculate], { tool_choice }).invoke('hi')).tool_calls).toMatchObject([
        { name: 'add' },
      ]);
    }
    const { model, episode } = openModel(['no']);
    for (const tool_choice of ['none', { type: 'none' }])
      await model.bindTools([calculate], { tool_choice }).invoke('hi');
    for (const tool_choice of ['auto', { type: 'auto' }])
      await model.bindTools([calculate], { tool_choice }).invoke('hi');
    expect(episode.engine.requests.map(({ text }) => text.includes('Adds.'))).toEqual([false, false, true, true]);
  });
});

describe('what LangChain’s users write', () => {
  it('structured output has the type of its schema', async () => {
    const schema = z.object({ a: z.number() });
    const structured = openModel([' {"a": 1}}\n</tool_call>']).model.withStructuredOutput(schema);
    const { a }: { a: number } = await structured.invoke('hi');
    const { raw, parsed } = await openModel(['{"a": 2}'])
      .model.withStructuredOutput(schema, { method: 'jsonSchema', includeRaw: true })
      .invoke('hi');
    expect([a, parsed.a, raw.text]).toEqual([1, 2, '{"a": 2}']);
  });

  it('schemas in OpenAI’s form of a function are asked for, and not their wrapping', async () => {
    const schema = { type: 'object', properties: { a: { type: 'number' } } };
    for (const wrapped of [
      { name: 'num', description: 'A number.', parameters: schema },
      { name: 'num', description: 'A number.', schema },
      { title: 'num', description: 'A number.', ...schema },
    ]) {
      const { model, episode } = openModel([' {"a": 1}}\n</tool_call>']);
      expect(await model.withStructuredOutput(wrapped).invoke('hi')).toEqual({ a: 1 });
      expect(episode.engine.requests[0]?.text).toMatch(
        /"name": "num", "description": "A number\.", "parameters": \{("title": "num", "description": "A number\.", )?"type": "object"/,
      );
    }
  });

  it('messages with a role in words', async () => {
    const { model, episode } = openModel(['x']);
    await model.invoke([new ChatMessage('be brief', 'system'), new ChatMessage('hi', 'user')]);
    expect(episode.engine.requests[0]?.text).toMatch(/system\nbe brief.*user\nhi/s);
    await expect(model.invoke([new ChatMessage('hi', 'critic')])).rejects.toThrow(/role "critic" cannot be shown/);
  });

  it('counts of tokens, for which nothing is fetched', async () => {
    const fetch = vi.spyOn(globalThis, 'fetch');
    const { model } = openModel(['x']);
    const kept = await trimMessages(
      [new HumanMessage('first '.repeat(40)), new AIMessage('yes'), new HumanMessage('last')],
      { maxTokens: 20, strategy: 'last', tokenCounter: model },
    );
    expect(kept.map(({ text }) => text)).toEqual(['yes', 'last']);
    expect(fetch).not.toHaveBeenCalled();
    fetch.mockRestore();
  });

  it('one stop text, and invalid numbers of answers', async () => {
    const { model } = openModel(['one two']);
    expect((await model.invoke('hi', { stop: 'two' as never })).text).toBe('one ');
    for (const n of [0, 1.5, 'a' as never])
      await expect(model.invoke('hi', { n })).rejects.toThrow(/Option n is .* Ask for a whole number/);
  });

  it('generate for several conversations, with the usage of all', async () => {
    const { model, episode } = openModel(['x']);
    const { llmOutput } = await model.generate([[new HumanMessage('a')], [new HumanMessage('b')]]);
    const completionTokens = episode.engine.requests.reduce(
      (sum, { completion }) => sum + (completion?.ids.length ?? 0),
      0,
    );
    expect(llmOutput?.['tokenUsage']).toMatchObject({ completionTokens });
  });
});

describe('asModel', () => {
  it('returns the debug model itself for a target that does not learn', () => {
    const { tuner } = openScriptedEpisode({ replies: ['x'], trainableTargets: ['other'] });
    const { model: debugModel } = openModel(['y']);
    expect(asModel(tuner, { agentName: 'a', debugModel })).toBe(debugModel);
    expect(() => asModel(tuner, { agentName: 'a' })).toThrow(/No model for agent "a"/);
  });
});
