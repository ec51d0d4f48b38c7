import { openScriptedEpisode, toolCallText, type ScriptedEpisodeOptions } from '@agentjet/rollout/testing';
import { ApiError, type CallableTool, type GenerateContentResponse, GoogleGenAI, Type } from '@google/genai';
import { describe, expect, it } from 'vitest';
import { asModel } from './index.js';

const add = {
  name: 'add',
  description: 'Adds two numbers.',
  parameters: { type: Type.OBJECT, properties: { a: { type: Type.NUMBER }, b: { type: Type.NUMBER, nullable: true } } },
};
const tools = [{ functionDeclarations: [add] }];
const ask = { model: 'any', contents: 'hi' };
const thinking = `<think>\nlong hard thought\n</think>\n\nSumming. ${toolCallText('add', '{"b": 2,  "a":1.0}')}${toolCallText('add', '{"a": 3, "b": 4}')}`;

function openClient(replies: ScriptedEpisodeOptions['replies'], options: { readonly contextLength?: number } = {}) {
  const episode = openScriptedEpisode({ replies, ...options });
  return { episode, client: asModel(episode.tuner, { agentName: 'solver' }) };
}

async function collect(stream: Promise<AsyncGenerator<GenerateContentResponse>>): Promise<GenerateContentResponse[]> {
  const chunks: GenerateContentResponse[] = [];
  for await (const chunk of await stream) chunks.push(chunk);
  return chunks;
}

const partsOf = (chunks: readonly GenerateContentResponse[]) =>
  chunks.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);

describe('one call', () => {
  it('is a Google client whose answer has text, calls with ids, a finish reason, usage and no safety ratings', async () => {
    const { client, episode } = openClient([thinking]);
    expect(client).toBeInstanceOf(GoogleGenAI);
    const answer = await client.models.generateContent({ ...ask, config: { tools } });
    expect(answer.text).toContain('Summing.');
    expect(answer.functionCalls).toMatchObject([
      { id: expect.any(String), name: 'add', args: { a: 1, b: 2 } },
      { id: expect.any(String), name: 'add', args: { a: 3, b: 4 } },
    ]);
    expect(answer.candidates).toMatchObject([{ index: 0, finishReason: 'STOP', safetyRatings: [] }]);
    expect(answer).toMatchObject({ modelVersion: 'any', responseId: expect.any(String) });
    const [request] = episode.engine.requests;
    const { promptTokenCount, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = answer.usageMetadata ?? {};
    expect(promptTokenCount).toBe(request?.request.promptIds.length);
    expect(thoughtsTokenCount).toBeGreaterThan(0);
    expect(candidatesTokenCount + thoughtsTokenCount).toBe(request?.completion?.ids.length);
    expect(request?.text).toContain('"type": ["number", "null"]'); // the model sees JSON Schema
  });

  it('shows thoughts only if it is asked for them', async () => {
    const { client } = openClient([thinking]);
    const hidden = await client.models.generateContent({ ...ask, config: { tools } });
    expect(partsOf([hidden]).some(({ thought }) => thought)).toBe(false);
    const shown = await client.models.generateContent({
      ...ask,
      config: { thinkingConfig: { includeThoughts: true } },
    });
    expect(partsOf([shown])[0]).toMatchObject({ thought: true, text: expect.stringContaining('long hard thought') });
  });

  it('honours sampling and several candidates, or refuses a parameter by name', async () => {
    const { client, episode } = openClient(['one two STOP three']);
    const config = { temperature: 0.5, topP: 0.9, topK: 9, maxOutputTokens: 40, seed: 9, stopSequences: ['STOP'] };
    expect((await client.models.generateContent({ ...ask, config })).text).toBe('one two ');
    expect(episode.engine.requests[0]?.request.sampling).toMatchObject({
      temperature: 0.5,
      topP: 0.9,
      topK: 9,
      maxTokens: 40,
      seed: 9,
    });
    const { candidates } = await client.models.generateContent({ ...ask, config: { candidateCount: 3 } });
    expect(candidates?.map(({ index }) => index)).toEqual([0, 1, 2]);
    const refused = (wrong: object) => client.models.generateContent({ ...ask, config: wrong });
    await expect(refused({ frequencyPenalty: 0.5 })).rejects.toThrow(/generationConfig\.frequencyPenalty/);
    await expect(refused({ temperature: -1 })).rejects.toThrow(/generationConfig\.temperature' is -1/);
    await expect(refused({ responseMimeType: 'text/x.enum' })).rejects.toThrow(/responseMimeType/);
    await expect(refused({ cachedContent: 'caches/x' })).rejects.toThrow(/cachedContent/);
  });

  it('gives the logprob of each token', async () => {
    const { client, episode } = openClient(['hello there']);
    const { candidates } = await client.models.generateContent({ ...ask, config: { responseLogprobs: true } });
    const chosen = candidates?.[0]?.logprobsResult?.chosenCandidates ?? [];
    expect(chosen.map(({ tokenId }) => tokenId)).toEqual([...(episode.engine.requests[0]?.completion?.ids ?? [])]);
    const mean = chosen.reduce((total, { logProbability = 0 }) => total + logProbability, 0) / chosen.length;
    expect(candidates?.[0]?.avgLogprobs).toBeCloseTo(mean, 9);
  });

  it('ends with MAX_TOKENS if the answer is cut', async () => {
    const { client } = openClient(['far too many words']);
    const { candidates } = await client.models.generateContent({ ...ask, config: { maxOutputTokens: 2 } });
    expect(candidates?.[0]?.finishReason).toBe('MAX_TOKENS');
  });

  it('answers in JSON after a schema of either form', async () => {
    const { client, episode } = openClient(['{"answer": 4}']);
    const schema = { type: Type.OBJECT, properties: { answer: { type: Type.NUMBER } } };
    const config = { responseMimeType: 'application/json', responseSchema: schema };
    expect((await client.models.generateContent({ ...ask, config })).text).toBe('{"answer": 4}');
    expect(episode.engine.requests[0]?.text).toContain('"type":"number"');
  });

  it('is one call if its idempotency key is known, is not trained if its header says so, and counts what has no effect', async () => {
    const { client, episode } = openClient(['a', 'b', 'c']);
    const keyed = { ...ask, config: { httpOptions: { headers: { 'idempotency-key': 'k1' } } } };
    const answers = await Promise.all([client.models.generateContent(keyed), client.models.generateContent(keyed)]);
    expect(answers.map(({ text }) => text)).toEqual(['a', 'a']);
    const headers = { 'x-ajet-train': 'false' };
    const untrained = { tools: [{ googleSearch: {} }], httpOptions: { headers } };
    await client.models.generateContent({ ...ask, config: untrained });
    const { samples, ignoredParameters } = episode.finish();
    expect([samples.length, ignoredParameters]).toEqual([1, { solver: { 'tools[].googleSearch': 1 } }]);
  });

  it('counts tokens without a sample, exactly as the call has them', async () => {
    const { client, episode } = openClient(['x']);
    const { totalTokens } = await client.models.countTokens(ask);
    expect(episode.engine.requests).toHaveLength(0);
    expect((await client.models.generateContent(ask)).usageMetadata?.promptTokenCount).toBe(totalTokens);
  });

  it('describes its model, in a list and by any name', async () => {
    const { client } = openClient(['x']);
    const listed = [];
    for await (const model of await client.models.list()) listed.push(model);
    expect(listed).toEqual([await client.models.get({ model: 'any' })]);
  });
});

describe('streams', () => {
  it('come as the engine makes tokens, and add up to the whole answer', async () => {
    const { client, episode } = openClient([{ text: thinking, tokenDelayMs: 0 }]);
    let numRunning = 0;
    const chunks: GenerateContentResponse[] = [];
    for await (const chunk of await client.models.generateContentStream({ ...ask, config: { tools } })) {
      numRunning = Math.max(numRunning, episode.engine.numRunning);
      chunks.push(chunk);
    }
    expect(numRunning).toBe(1);
    const parts = partsOf(chunks);
    expect(parts.map(({ text = '' }) => text).join('')).toContain('Summing.');
    expect(parts.flatMap(({ functionCall }) => functionCall ?? [])).toMatchObject([
      { args: { a: 1, b: 2 } },
      { args: { a: 3, b: 4 } },
    ]);
    expect(chunks.at(-1)).toMatchObject({ candidates: [{ finishReason: 'STOP' }], usageMetadata: {} });
  });

  it('free the slot when the reader aborts, and the error is that of the abort', async () => {
    const { client, episode } = openClient([{ text: 'a long answer that nobody reads to the end', tokenDelayMs: 1 }]);
    const controller = new AbortController();
    const read = async (): Promise<void> => {
      const config = { abortSignal: controller.signal };
      for await (const _chunk of await client.models.generateContentStream({ ...ask, config })) controller.abort();
    };
    await expect(read()).rejects.toThrow(/abort/i);
    await expect.poll(() => episode.engine.requests[0]?.outcome).toBe('aborted');
    expect(episode.finish().samples).toHaveLength(0);
  });

  it('raise ApiError with a status, before the first token and after it', async () => {
    const { client } = openClient(['x'], { contextLength: 60 });
    const long = { model: 'any', contents: 'word '.repeat(100) };
    await expect(collect(client.models.generateContentStream(long))).rejects.toMatchObject({ status: 400 });
    const { client: closing, episode } = openClient([{ text: 'a long answer', tokenDelayMs: 1 }]);
    const read = async (): Promise<void> => {
      for await (const _chunk of await closing.models.generateContentStream(ask)) episode.end();
    };
    await expect(read()).rejects.toBeInstanceOf(ApiError);
    await expect(read()).rejects.toMatchObject({ status: 410 });
  });
});

describe('errors are the SDK’s own', () => {
  it('context overflow, an engine that fails, another API, and a call after the episode', async () => {
    const { client, episode } = openClient([{ text: '', error: new Error('device lost') }, 'fine'], {
      contextLength: 160,
    });
    const long = { model: 'any', contents: 'word '.repeat(300) };
    await expect(client.models.generateContent(long)).rejects.toMatchObject({
      name: 'ApiError',
      status: 400,
      message: expect.stringContaining('INVALID_ARGUMENT'),
    });
    await expect(client.models.generateContent(ask)).rejects.toMatchObject({ name: 'ApiError', status: 500 });
    expect(episode.engine.requests).toHaveLength(1);
    expect((await client.models.generateContent(ask)).text).toBe('fine');
    const embed = client.models.embedContent({ model: 'any', contents: 'hi' });
    await expect(embed).rejects.toMatchObject({ name: 'ApiError', status: 404 });
    episode.end();
    await expect(client.models.generateContent(ask)).rejects.toMatchObject({ status: 410 });
  });
});

describe('helpers', () => {
  it('call functions automatically to the end', async () => {
    const { client, episode } = openClient([toolCallText('add', '{"a": 1, "b": 2}'), 'three']);
    const calculator: CallableTool = {
      tool: async () => ({ functionDeclarations: [add] }),
      callTool: async (calls) =>
        calls.map(({ id = '', name = '', args = {} }) => ({
          functionResponse: { id, name, response: { result: Number(args['a']) + Number(args['b']) } },
        })),
    };
    const answer = await client.models.generateContent({ ...ask, config: { tools: [calculator] } });
    expect(answer.text).toBe('three');
    const { samples, calls, stats } = episode.finish();
    expect([samples.length, stats.trainedTokens]).toEqual([1, stats.generatedTokens]);
    expect(calls).toMatchObject({ answered: 2, failed: 0 });
  });

  it.each([true, false])(
    'keep chats whose prompts continue the model’s own tokens (streamed: %s)',
    async (isStreamed) => {
      const { client, episode } = openClient(
        ['one  two', toolCallText('add', '{"b": 2,  "a":1.0}'), 'four'].map((text) => ({ text, tokenDelayMs: 0 })),
      );
      const chat = client.chats.create({ model: 'any', config: { tools } });
      for (const message of ['first', 'second', 'third']) {
        if (isStreamed) await collect(chat.sendMessageStream({ message }));
        else await chat.sendMessage({ message });
      }
      const { samples, stats } = episode.finish();
      expect([samples.length, stats.trainedTokens]).toEqual([1, stats.generatedTokens]);
    },
  );
});

describe('a conversation', () => {
  it('may leave out ids: a result belongs to the first open call of its name', async () => {
    const { client, episode } = openClient(['x']);
    const contents = [
      { role: 'user', parts: [{ text: 'sum' }] },
      { role: 'model', parts: [{ functionCall: { name: 'add', args: { a: 1 } } }, { functionCall: { name: 'look' } }] },
      {
        role: 'user',
        parts: [
          { functionResponse: { name: 'look', response: { output: 'seen' } } },
          { functionResponse: { name: 'add', response: { sum: 3 } } },
        ],
      },
    ];
    await client.models.generateContent({ model: 'any', contents });
    expect(episode.engine.requests[0]?.text).toMatch(/\{"sum":3\}[\s\S]*seen|seen[\s\S]*\{"sum":3\}/);
  });

  it('refuses images by the name of their part, and leaves out the parts of other models', async () => {
    const { client, episode } = openClient(['x']);
    const image = { inlineData: { mimeType: 'image/png', data: 'aGk=' } };
    await expect(client.models.generateContent({ model: 'any', contents: [image] })).rejects.toThrow(/inlineData/);
    const contents = [
      { role: 'user', parts: [{ text: 'draw' }] },
      { role: 'model', parts: [image, { text: 'There.' }] },
      { role: 'user', parts: [{ text: 'again' }] },
    ];
    await client.models.generateContent({ model: 'any', contents });
    expect(episode.engine.requests[0]?.text).toContain('There.');
    expect(episode.finish().ignoredParameters).toEqual({ solver: { 'contents: inlineData': 1 } });
  });
});

describe('asModel', () => {
  it('returns the debug model itself for a target that does not learn', () => {
    const { tuner } = openScriptedEpisode({ replies: ['x'], trainableTargets: ['other'] });
    const debugModel = new GoogleGenAI({ apiKey: 'k' });
    expect(asModel(tuner, { agentName: 'a', debugModel })).toBe(debugModel);
    expect(() => asModel(tuner, { agentName: 'a' })).toThrow(/No model for agent "a"/);
  });
});
