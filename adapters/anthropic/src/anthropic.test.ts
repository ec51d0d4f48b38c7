import { openScriptedEpisode, toolCallText, type ScriptedEpisodeOptions } from '@agentjet/rollout/testing';
import {
  Anthropic,
  APIError,
  APIUserAbortError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
} from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { asModel } from './index.js';

const add: Anthropic.Tool = {
  name: 'add',
  input_schema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
};
const ask = { model: 'any', max_tokens: 500, messages: [{ role: 'user' as const, content: 'hi' }] };
const thinking = `<think>\nlong hard thought\n</think>\n\nSumming. ${toolCallText('add', '{"b": 2,  "a":1.0}')}${toolCallText('add', '{"a": 3, "b": 4}')}`;

function openClient(replies: ScriptedEpisodeOptions['replies'], options: { readonly contextLength?: number } = {}) {
  const episode = openScriptedEpisode({ replies, ...options });
  return { episode, client: asModel(episode.tuner, { agentName: 'solver' }) };
}

describe('one call', () => {
  it('is an Anthropic client whose answer has thinking, text, calls, a stop reason and usage', async () => {
    const { client, episode } = openClient([thinking]);
    expect(client).toBeInstanceOf(Anthropic);
    const message = await client.messages.create({ ...ask, tools: [add] });
    expect(message.content).toMatchObject([
      { type: 'thinking', thinking: expect.stringContaining('long hard thought') },
      { type: 'text', text: expect.stringContaining('Summing.') },
      { type: 'tool_use', name: 'add', input: { a: 1, b: 2 } },
      { type: 'tool_use', name: 'add', input: { a: 3, b: 4 } },
    ]);
    expect(message).toMatchObject({
      model: 'any',
      stop_reason: 'tool_use',
      usage: {
        input_tokens: episode.engine.requests[0]?.request.promptIds.length,
        output_tokens: episode.engine.requests[0]?.completion?.ids.length,
      },
    });
  });

  it('honours sampling, stop sequences and the token limit, or refuses a parameter by name', async () => {
    const { client, episode } = openClient(['one two STOP three', 'far too many words']);
    const sampling = { temperature: 0.5, top_k: 9 };
    const stopped = await client.messages.create({ ...ask, ...sampling, stop_sequences: ['STOP'] });
    expect(stopped).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'STOP' });
    expect(episode.engine.requests[0]?.request.sampling).toMatchObject({ temperature: 0.5, topK: 9, maxTokens: 500 });
    expect((await client.messages.create({ ...ask, max_tokens: 2 })).stop_reason).toBe('max_tokens');
    await expect(client.messages.create({ ...ask, temperature: -1 } as typeof ask)).rejects.toThrow(
      /'temperature' is -1/,
    );
    await expect(client.messages.create({ ...ask, made_up: 1 } as typeof ask)).rejects.toThrow(/'made_up'/);
  });

  it('answers a request with a known idempotency key once, and refuses another request with this key', async () => {
    const { client, episode } = openClient(['a', 'b']);
    const options = { headers: { 'idempotency-key': 'k1' } };
    const answers = await Promise.all([client.messages.create(ask, options), client.messages.create(ask, options)]);
    expect(answers[1].content).toEqual(answers[0].content);
    await expect(client.messages.create({ ...ask, max_tokens: 3 }, options)).rejects.toThrow(/idempotency-key 'k1'/);
    expect(episode.finish().samples).toHaveLength(1);
  });

  it('is not trained if its header says so, and what has no effect is counted', async () => {
    const { client, episode } = openClient(['x']);
    await client.messages.create({ ...ask, thinking: { type: 'adaptive' } }, { headers: { 'x-ajet-train': 'false' } });
    const { samples, ignoredParameters } = episode.finish();
    expect([samples, ignoredParameters]).toEqual([[], { solver: { thinking: 1 } }]);
  });

  it('counts tokens without a sample, exactly as the call has them', async () => {
    const { client, episode } = openClient(['x']);
    const { max_tokens: _limit, ...prompt } = ask;
    const { input_tokens: counted } = await client.messages.countTokens({ ...prompt, tools: [add] });
    expect(episode.engine.requests).toHaveLength(0);
    expect((await client.messages.create({ ...ask, tools: [add] })).usage.input_tokens).toBe(counted);
    expect((await client.beta.messages.countTokens({ ...prompt, tools: [add] })).input_tokens).toBe(counted);
  });

  it('describes its model, in a list and by any name', async () => {
    const { client } = openClient(['x']);
    expect((await client.models.list()).data).toEqual([await client.models.retrieve('any')]);
  });
});

describe('streams', () => {
  it('come as the engine makes tokens, with the JSON of calls in pieces, and add up to the whole answer', async () => {
    const { client, episode } = openClient([{ text: thinking, tokenDelayMs: 0 }]);
    let numRunning = 0;
    const events: Anthropic.MessageStreamEvent[] = [];
    for await (const event of await client.messages.create({ ...ask, tools: [add], stream: true })) {
      numRunning = Math.max(numRunning, episode.engine.numRunning);
      events.push(event);
    }
    expect(numRunning).toBe(1);
    const deltas = events.flatMap((event) => (event.type === 'content_block_delta' ? [event] : []));
    const join = (index: number) =>
      deltas.flatMap(({ delta, ...event }) => {
        if (event.index !== index) return [];
        return 'partial_json' in delta ? delta.partial_json : 'text' in delta ? delta.text : [];
      });
    expect(join(1).join('')).toContain('Summing.');
    expect([2, 3].map((index) => JSON.parse(join(index).join('')) as unknown)).toEqual([
      { a: 1, b: 2 },
      { a: 3, b: 4 },
    ]);
    expect(events.at(-2)).toMatchObject({ delta: { stop_reason: 'tool_use' } });
  });

  it('free the slot when the reader breaks', async () => {
    const { client, episode } = openClient([{ text: 'a long answer that nobody reads to the end', tokenDelayMs: 1 }]);
    for await (const event of await client.messages.create({ ...ask, stream: true }))
      if (event.type === 'content_block_delta') break;
    await expect.poll(() => episode.engine.requests[0]?.outcome).toBe('aborted');
    expect(episode.finish().samples).toHaveLength(0);
  });

  it('raise errors with a status before the model is asked, and as APIError after it', async () => {
    const { client } = openClient(['x'], { contextLength: 60 });
    const long = [{ role: 'user' as const, content: 'word '.repeat(100) }];
    await expect(client.messages.create({ ...ask, messages: long, stream: true })).rejects.toBeInstanceOf(
      BadRequestError,
    );
    const { client: closing, episode } = openClient([{ text: 'a long answer', tokenDelayMs: 1 }]);
    const read = async (): Promise<void> => {
      for await (const _event of await closing.messages.create({ ...ask, stream: true })) episode.end();
    };
    await expect(read()).rejects.toThrow(APIError);
    await expect(read()).rejects.toMatchObject({ status: 410 });
  });

  it('end with the SDK’s own error if the caller aborts', async () => {
    const { client, episode } = openClient([{ text: 'a slow answer', tokenDelayMs: 2 }]);
    const stream = client.messages.stream(ask);
    stream.on('text', () => stream.abort());
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(APIUserAbortError);
    await expect.poll(() => episode.engine.requests[0]?.outcome).toBe('aborted');
  });
});

describe('errors are the SDK’s own', () => {
  it('context overflow, an engine that fails, and a call after the episode', async () => {
    const { client, episode } = openClient([{ text: '', error: new Error('device lost') }, 'fine'], {
      contextLength: 160,
    });
    const long = { ...ask, messages: [{ role: 'user' as const, content: 'word '.repeat(300) }] };
    await expect(client.messages.create(long)).rejects.toBeInstanceOf(BadRequestError);
    await expect(client.messages.create(ask)).rejects.toBeInstanceOf(InternalServerError);
    expect(episode.engine.requests).toHaveLength(1);
    expect((await client.messages.create(ask)).content).toMatchObject([{ text: 'fine' }]);
    episode.end();
    await expect(client.messages.create(ask)).rejects.toMatchObject({ status: 410 });
  });

  it('other APIs are not found', async () => {
    const { client } = openClient(['x']);
    await expect(client.messages.batches.list()).rejects.toBeInstanceOf(NotFoundError);
    await expect(client.messages.batches.list()).rejects.toThrow('GET /v1/messages/batches is not served in process');
  });

  it('abort', async () => {
    const controller = new AbortController();
    const { client, episode } = openClient(
      () => (setTimeout(() => controller.abort(), 8), { text: 'slow answer', tokenDelayMs: 5 }),
    );
    const answer = client.messages.create(ask, { signal: controller.signal });
    await expect(answer).rejects.toBeInstanceOf(APIUserAbortError);
    await expect.poll(() => episode.engine.requests[0]?.outcome).toBe('aborted');
    expect(episode.finish().samples).toHaveLength(0);
  });
});

describe('helpers', () => {
  it('parse structured output', async () => {
    const { client } = openClient(['{"answer": 4}']);
    const format = zodOutputFormat(z.object({ answer: z.number() }));
    const message = await client.messages.parse({ ...ask, output_config: { format } });
    expect(message.parsed_output).toEqual({ answer: 4 });
  });

  it.each([true, false])('run tools to the end (streamed: %s)', async (stream) => {
    const { client, episode } = openClient([toolCallText('add', '{"a": 1, "b": 2}'), 'three']);
    const tool = betaZodTool({
      name: 'add',
      description: 'Adds.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      run: ({ a, b }) => String(a + b),
    });
    const runner = client.beta.messages.toolRunner({ ...ask, tools: [tool], stream });
    expect((await runner.runUntilDone()).content).toMatchObject([{ type: 'text', text: 'three' }]);
    const { samples, calls, stats } = episode.finish();
    expect([samples.length, stats.trainedTokens]).toEqual([1, stats.generatedTokens]);
    expect(calls).toMatchObject({ answered: 2, failed: 0 });
  });
});

describe('asModel', () => {
  it('returns the debug model itself for a target that does not learn', () => {
    const { tuner } = openScriptedEpisode({ replies: ['x'], trainableTargets: ['other'] });
    const debugModel = new Anthropic({ apiKey: 'k' });
    expect(asModel(tuner, { agentName: 'a', debugModel })).toBe(debugModel);
    expect(() => asModel(tuner, { agentName: 'a' })).toThrow(/No model for agent "a"/);
  });
});
