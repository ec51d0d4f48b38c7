import {
  openScriptedEpisode,
  toolCallText,
  extendsPrevious,
  type ScriptedEpisodeOptions,
} from '@agentjet/rollout/testing';
import { APICallError, type LanguageModelV3 } from '@ai-sdk/provider';
import {
  generateObject,
  generateText,
  NoObjectGeneratedError,
  Output,
  stepCountIs,
  streamText,
  tool,
  type ModelMessage,
} from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { asModel, TunedLanguageModel } from './index.js';

const tools = {
  add: tool({
    description: 'Adds.',
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => a + b,
  }),
};

function openModel(replies: ScriptedEpisodeOptions['replies'], options: { readonly contextLength?: number } = {}) {
  const episode = openScriptedEpisode({ replies, ...options });
  return { episode, model: asModel(episode.tuner, { agentName: 'solver' }) };
}

/** Messages of all steps. ai 7 has a separate property for them, and `response` has those of the last step. */
function allMessages({
  response,
  responseMessages = response.messages,
}: {
  readonly response: { readonly messages: readonly ModelMessage[] };
  readonly responseMessages?: readonly ModelMessage[];
}): readonly ModelMessage[] {
  return responseMessages;
}

const odd = `<think>\nhard\n</think>\n\n Summing. ${toolCallText('add', '{"b": 2,  "a":1.0, "zzz": "\\u00e9 \\/"}')}${toolCallText('add', '{"a": 3,"b": 4}')}`;

describe('a request id', () => {
  const providerOptions = { agentjet: { requestId: 'r1' } };

  it('makes one call of each step of an agent, and the whole agent can be repeated', async () => {
    const { model, episode } = openModel([toolCallText('add', '{"a": 1, "b": 2}'), 'three', 'never']);
    const ask = () => generateText({ model, prompt: 'hi', tools, stopWhen: stepCountIs(3), providerOptions });
    const answers = [await ask(), await ask()];
    expect(answers.map(({ text }) => text)).toEqual(['three', 'three']);
    expect(episode.engine.requests).toHaveLength(2);
  });

  it('that another prompt has used is an error', async () => {
    const { model } = openModel(['x']);
    await generateText({ model, prompt: 'hi', providerOptions });
    await expect(generateText({ model, prompt: 'ho', providerOptions })).rejects.toThrow(/"r1" was used with another/);
  });
});

describe('one call', () => {
  it('answers with text, usage, finish reason, id and logprobs', async () => {
    const { model, episode } = openModel(['hello there']);
    const result = await generateText({ model, prompt: 'hi' });
    const [request] = episode.engine.requests;
    expect(result.text).toBe('hello there');
    expect(result.finishReason).toBe('stop');
    expect(result.usage).toMatchObject({
      inputTokens: request?.request.promptIds.length,
      outputTokens: request?.completion?.ids.length,
    });
    expect(result.providerMetadata?.['agentjet']?.['logprobs']).toHaveLength(request?.completion?.ids.length ?? 0);
  });

  it('passes sampling on, and warns of what it cannot honour', async () => {
    const { model, episode } = openModel(['one two STOP three']);
    const result = await generateText({
      model,
      prompt: 'hi',
      temperature: 0.5,
      topP: 0.9,
      topK: 7,
      maxOutputTokens: 40,
      seed: 3,
      stopSequences: ['STOP'],
      presencePenalty: 0,
      tools: {
        search: { type: 'provider', id: 'openai.web_search', args: {}, isProviderExecuted: true },
      } as unknown as Record<never, never>,
    });
    expect(episode.engine.requests[0]?.request.sampling).toMatchObject({
      temperature: 0.5,
      topP: 0.9,
      topK: 7,
      maxTokens: 40,
      seed: 3,
    });
    expect(result.text).toBe('one two ');
    expect(result.warnings).toEqual([{ type: 'unsupported', feature: 'provider tool openai.web_search' }]);
    expect(episode.finish().ignoredParameters).toEqual({ solver: { 'tools: provider': 1 } });
  });

  it('refuses what would change the answer and cannot be honoured', async () => {
    const { model } = openModel(['hello']);
    await expect(generateText({ model, prompt: 'hi', presencePenalty: 0.5 })).rejects.toThrow(/presencePenalty/);
  });

  it('says length for a truncated answer', async () => {
    expect(
      (await generateText({ model: openModel(['far too many words']).model, prompt: 'hi', maxOutputTokens: 2 }))
        .finishReason,
    ).toBe('length');
  });

  it('gives thinking and parallel calls', async () => {
    const result = await generateText({ model: openModel([odd]).model, prompt: 'hi', tools });
    expect(result.reasoningText?.trim()).toBe('hard');
    expect(result.toolCalls.map(({ input }) => input)).toEqual([
      { a: 1, b: 2 },
      { a: 3, b: 4 },
    ]);
  });
});

describe('a stream', () => {
  it('brings parts as tokens are made, and ends like the whole answer', async () => {
    const { model, episode } = openModel([{ text: odd, tokenDelayMs: 0 }]);
    const result = streamText({ model, prompt: 'hi', tools: { add: tool({ inputSchema: z.looseObject({}) }) } });
    const types: string[] = [];
    let numRunning = 0;
    for await (const part of result.fullStream) {
      types.push(part.type);
      numRunning = Math.max(numRunning, episode.engine.numRunning);
    }
    expect(numRunning).toBe(1);
    expect(types.filter((type, at) => type !== types[at - 1]).join(' ')).toBe(
      'start start-step reasoning-start reasoning-delta reasoning-end text-start text-delta ' +
        'tool-input-start tool-input-delta tool-input-end tool-input-start tool-input-delta tool-input-end text-end tool-call finish-step finish',
    );
    expect((await result.toolCalls).map(({ input }) => input)).toEqual([
      { b: 2, a: 1, zzz: 'é /' },
      { a: 3, b: 4 },
    ]);
    expect(await result.finishReason).toBe('tool-calls');
  });

  it('frees the slot when it is cancelled, also between two tokens', async () => {
    const { model, episode } = openModel([{ text: 'a long answer that nobody reads', tokenDelayMs: 5 }]);
    const { stream } = await (model as LanguageModelV3).doStream({
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
    });
    const reader = stream.getReader();
    await reader.read();
    void reader.read();
    await reader.cancel();
    await expect.poll(() => episode.engine.requests[0]?.outcome).toBe('aborted');
    expect(episode.finish().samples).toHaveLength(0);
  });

  it('ends with its abort signal', async () => {
    const { model, episode } = openModel([{ text: 'a long answer that nobody reads', tokenDelayMs: 2 }]);
    const controller = new AbortController();
    const parts: string[] = [];
    for await (const part of streamText({ model, prompt: 'hi', abortSignal: controller.signal }).fullStream) {
      parts.push(part.type);
      if (part.type === 'text-delta') controller.abort();
    }
    expect(parts.at(-1)).toBe('abort');
    await expect.poll(() => episode.engine.requests[0]?.outcome).toBe('aborted');
    expect(episode.finish().samples).toHaveLength(0);
  });
});

describe('errors', () => {
  it('are APICallErrors that are not retried', async () => {
    const { model, episode } = openModel([{ text: '', error: new Error('device lost') }]);
    const error = await generateText({ model, prompt: 'hi' }).catch((thrown: unknown) => thrown);
    expect(APICallError.isInstance(error) && error.message).toMatch(/device lost/);
    expect(episode.engine.requests).toHaveLength(1);
  });

  it('name an overflow, for that call alone', async () => {
    const { model } = openModel(['fine'], { contextLength: 60 });
    const error = await generateText({ model, prompt: 'word '.repeat(100) }).catch((thrown: unknown) => thrown);
    expect(APICallError.isInstance(error) && [error.statusCode, error.data]).toEqual([
      400,
      { code: 'context_overflow' },
    ]);
    expect((await generateText({ model, prompt: 'hi' })).text).toBe('fine');
  });

  it('come before a stream begins, or in it', async () => {
    const { model, episode } = openModel([{ text: 'a long answer', tokenDelayMs: 2 }]);
    const errors: unknown[] = [];
    const result = streamText({ model, prompt: 'hi', onError: ({ error }) => void errors.push(error) });
    for await (const part of result.fullStream) if (part.type === 'text-delta') episode.end();
    expect(errors).toMatchObject([{ statusCode: 410 }]);
    await expect((model as LanguageModelV3).doStream({ prompt: [] })).rejects.toMatchObject({ statusCode: 410 });
  });

  it('abort by a timeout, which keeps its name', async () => {
    const controller = new AbortController();
    const { model } = openModel(
      () => (
        setTimeout(() => controller.abort(new DOMException('too late', 'TimeoutError')), 8),
        { text: 'slow answer', tokenDelayMs: 5 }
      ),
    );
    await expect(generateText({ model, prompt: 'hi', abortSignal: controller.signal })).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  });

  it('abort', async () => {
    const controller = new AbortController();
    const { model, episode } = openModel(
      () => (setTimeout(() => controller.abort(), 8), { text: 'slow answer', tokenDelayMs: 5 }),
    );
    const answer = generateText({ model, prompt: 'hi', abortSignal: controller.signal });
    await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
    await expect.poll(() => episode.engine.requests[0]?.outcome).toBe('aborted');
  });

  it('refuse what cannot be shown to the model', async () => {
    const messages: ModelMessage[] = [
      {
        role: 'user',
        content: [{ type: 'image', image: new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]), mediaType: 'image/png' }],
      },
    ];
    await expect(generateText({ model: openModel(['x']).model, messages })).rejects.toThrow(/image\/png/);
  });
});

describe('several steps', () => {
  it('continue exactly what the model wrote', async () => {
    const { model, episode } = openModel([odd, 'It is 3 and 7. ']);
    const result = await generateText({ model, prompt: '1+2 and 3+4', tools, stopWhen: stepCountIs(5) });
    expect(result.text).toBe('It is 3 and 7. ');
    expect(extendsPrevious(episode, 1)).toBe(true);
  });

  it('continue exactly when they were streamed', async () => {
    const { model, episode } = openModel([{ text: odd, tokenDelayMs: 0 }, 'It is 3 and 7. ']);
    const result = streamText({ model, prompt: '1+2 and 3+4', tools, stopWhen: stepCountIs(5) });
    expect(await result.text).toBe('It is 3 and 7. ');
    expect(extendsPrevious(episode, 1)).toBe(true);
  });

  it('continue exactly in the next question', async () => {
    const { model, episode } = openModel([odd, ' Three and seven. ', 'welcome']);
    const question: ModelMessage = { role: 'user', content: '1+2 and 3+4' };
    const first = await generateText({ model, messages: [question], tools, stopWhen: stepCountIs(5) });
    await generateText({ model, messages: [question, ...allMessages(first), { role: 'user', content: 'thanks' }] });
    expect(episode.engine.requests[2]?.text).toContain('Three and seven.');
  });

  it('take merged turns apart', async () => {
    const { model, episode } = openModel([
      toolCallText('add', '{"a": 1,"b":2}'),
      toolCallText('add', '{"a": 3,"b":4}'),
      'done',
    ]);
    const messages: ModelMessage[] = [{ role: 'user', content: 'go' }];
    const turns = allMessages(await generateText({ model, messages, tools, stopWhen: stepCountIs(2) }));
    const parts = (role: 'assistant' | 'tool') =>
      turns.flatMap((message): readonly unknown[] =>
        message.role === role && typeof message.content !== 'string' ? message.content : [],
      );
    const merged = [
      { role: 'assistant', content: parts('assistant') },
      { role: 'tool', content: parts('tool') },
    ] as ModelMessage[];
    await generateText({ model, messages: [...messages, ...merged], tools });
    expect(extendsPrevious(episode, 2)).toBe(true);
  });

  it('continue after an unknown tool', async () => {
    const { model, episode } = openModel([toolCallText('nope', '{}'), 'sorry']);
    expect((await generateText({ model, prompt: 'go', tools, stopWhen: stepCountIs(3) })).text).toBe('sorry');
    expect(episode.finish().calls.unknownTools).toBe(1);
    expect(extendsPrevious(episode, 1)).toBe(true);
  });

  it.each([false, true])(
    'continue exactly after arguments that the tool’s schema refuses (streamed: %s)',
    async (isStreamed) => {
      const { model, episode } = openModel([toolCallText('add', '{"a": "one",  "zzz": 1}'), 'sorry']);
      const settings = { model, prompt: 'go', tools, stopWhen: stepCountIs(3) };
      expect(isStreamed ? await streamText(settings).text : (await generateText(settings)).text).toBe('sorry');
      expect(extendsPrevious(episode, 1)).toBe(true);
    },
  );

  it('show an edited turn as what it has become', async () => {
    const { model, episode } = openModel(['secret 42', 'ok']);
    const { response } = await generateText({ model, prompt: 'hi' });
    const edited = response.messages.map(
      (message) => JSON.parse(JSON.stringify(message).replace('secret 42', 'redacted')) as ModelMessage,
    );
    // The edit also changed the original turn that is kept in the message, so the prompt must use the edited text.
    await generateText({
      model,
      messages: [{ role: 'user', content: 'hi' }, ...edited, { role: 'user', content: 'go on' }],
    });
    expect(episode.engine.requests[1]?.text).toContain('redacted');
  });
});

describe('structured output', () => {
  const schema = z.object({ answer: z.number() });

  it('is an object, or the SDK’s own error', async () => {
    expect((await generateObject({ model: openModel(['{"answer": 4}']).model, prompt: '2+2', schema })).object).toEqual(
      { answer: 4 },
    );
    const { model, episode } = openModel(['four']);
    const error = await generateObject({ model, prompt: '2+2', schema }).catch((thrown: unknown) => thrown);
    expect(NoObjectGeneratedError.isInstance(error)).toBe(true);
    expect(episode.finish().calls.malformedJson).toBe(1);
    expect(
      (
        await generateText({
          model: openModel(['{"answer": 5}']).model,
          prompt: '2+3',
          output: Output.object({ schema }),
        })
      ).output,
    ).toEqual({ answer: 5 });
  });
});

describe('structured output, streamed', () => {
  it('grows as the model writes it', async () => {
    const { model } = openModel([{ text: '{"answer": 4}', tokenDelayMs: 0 }]);
    const { partialOutputStream } = streamText({
      model,
      prompt: '2+2',
      output: Output.object({ schema: z.object({ answer: z.number() }) }),
    });
    const partials: unknown[] = [];
    for await (const partial of partialOutputStream) partials.push(partial);
    expect(partials.at(-1)).toEqual({ answer: 4 });
    expect(partials.length).toBeGreaterThan(1);
  });
});

describe('asModel', () => {
  it('returns the debug model itself for a target that does not learn', () => {
    const { tuner } = openScriptedEpisode({ replies: ['x'], trainableTargets: ['other'] });
    const debugModel = 'openai/gpt-5';
    expect(asModel(tuner, { agentName: 'a', debugModel })).toBe(debugModel);
    expect(() => asModel(tuner, { agentName: 'a' })).toThrow(/No model for agent "a"/);
    expect(openModel(['x']).model).toBeInstanceOf(TunedLanguageModel);
  });
});
