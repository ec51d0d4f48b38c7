import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startEndpointServer, type EndpointServer } from './index.js';

/** Requests of clients that are not Google's SDK. `test/endpoint` checks the SDK. */

let host: EndpointServer;
beforeAll(async () => {
  host = await startEndpointServer();
});
afterAll(() => host.close());

function open(text = 'hello') {
  const episode = openScriptedEpisode({ replies: [{ text, tokenDelayMs: 0 }], endpointHost: host });
  const { baseUrl, apiKey } = episode.tuner.asOpenAIEndpoint({ agentName: 'solver' });
  const root = baseUrl.replace(/\/v1$/, '');
  const post = async (path: string, body: object, headers: object = { 'x-goog-api-key': apiKey }) => {
    const response = await fetch(root + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as unknown };
  };
  return { episode, apiKey, baseUrl, root, post };
}

const contents = [{ parts: [{ text: 'hi' }] }];
const generate = '/v1beta/models/gemini-any:generateContent';

it.each(['v1beta', 'v1', 'v1alpha'])(
  'answers curl with snake case, and the key in the address (%s)',
  async (version) => {
    const { episode, post, apiKey } = open('one two three four');
    const { status, body } = await post(
      `/${version}/models/gemini-any:generateContent?key=${apiKey}`,
      { contents, system_instruction: { parts: [{ text: 'Be brief.' }] }, generation_config: { max_output_tokens: 2 } },
      {},
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({ modelVersion: 'gemini-any', candidates: [{ finishReason: 'MAX_TOKENS' }] });
    expect(episode.engine.requests[0]?.text).toContain('Be brief.');
  },
);

it('a stream without alt=sse is a list of all pieces', async () => {
  const { post } = open('a few more words');
  const { body } = await post('/v1beta/models/m:streamGenerateContent', { contents });
  const chunks = body as readonly {
    readonly candidates: readonly { readonly content: { parts: { text: string }[] } }[];
  }[];
  expect(chunks.length).toBeGreaterThan(2);
  expect(chunks.map(({ candidates }) => candidates[0]?.content.parts[0]?.text).join('')).toBe('a few more words');
});

it('a stream has nothing but data lines, also while the model is silent', async () => {
  const impatient = await startEndpointServer({ heartbeatMs: 5 });
  let answer = (_text: string): void => undefined;
  const waiting = new Promise<string>((resolve) => {
    answer = resolve;
  });
  const episode = openScriptedEpisode({ replies: () => waiting, endpointHost: impatient });
  const { baseUrl, apiKey } = episode.tuner.asOpenAIEndpoint({ agentName: 'solver' });
  const address = `${baseUrl.replace(/\/v1$/, '')}/v1beta/models/m:streamGenerateContent?alt=sse&key=${apiKey}`;
  const response = await fetch(address, { method: 'POST', body: JSON.stringify({ contents }) });
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (text.length > 'data: '.length) answer('a few words');
  }
  await impatient.close();
  // The parser of older SDKs and of Genkit reads each event with this expression, and refuses anything else.
  const events = text.split('\n\n').filter((event) => event !== '');
  const parsed = events.map((event) => JSON.parse(/^data: (.*)$/.exec(event)?.[1] ?? '') as { candidates: object[] });
  expect(parsed.length).toBeGreaterThan(1);
  expect(parsed.at(-1)).toMatchObject({ candidates: [{ finishReason: 'STOP' }] });
});

it('counts the tokens of a whole request without a sample', async () => {
  const { post, episode } = open();
  const asked = { contents, tools: [{ functionDeclarations: [{ name: 'add' }] }] };
  const whole = await post('/v1beta/models/m:countTokens', { generateContentRequest: { model: 'models/m', ...asked } });
  const { body } = await post(generate, asked);
  expect(body).toMatchObject({
    usageMetadata: { promptTokenCount: (whole.body as { totalTokens: number }).totalTokens },
  });
  expect(episode.engine.requests).toHaveLength(1);
});

it.each([
  [generate, { contents: 'hi' }, 400, 'INVALID_ARGUMENT', "'contents' is "],
  [generate, {}, 400, 'INVALID_ARGUMENT', "Missing required parameter: 'contents'"],
  [generate, { contents, generationConfig: { topP: 2 } }, 400, 'INVALID_ARGUMENT', "'generationConfig.topP' is 2"],
  ['/v1beta/models/m:embedContent', { contents }, 404, 'NOT_FOUND', 'generateContent, streamGenerateContent'],
  ['/v1/v1beta/models/m:generateContent', { contents }, 404, 'NOT_FOUND', 'without /v1 at its end'],
  ['/v1beta/cachedContents', {}, 404, 'NOT_FOUND', 'Unknown request URL'],
])('errors have the form of the API: %s %j', async (path, body, code, status, words) => {
  const { post } = open();
  const answer = await post(path, body);
  expect(answer).toMatchObject({
    status: code,
    body: { error: { code, status, message: expect.stringContaining(words) } },
  });
});

it('a request without a valid key is unauthenticated, and after the episode it ends with status 410', async () => {
  const { post, episode } = open();
  expect(await post(generate, { contents }, {})).toMatchObject({ body: { error: { status: 'UNAUTHENTICATED' } } });
  episode.end();
  expect(await post(generate, { contents })).toMatchObject({ status: 410, body: { error: { code: 410 } } });
});

it('describes the model in the form of each API', async () => {
  const { root, apiKey } = open();
  const get = async (path: string, headers: Readonly<Record<string, string>>): Promise<unknown> =>
    (await fetch(root + path, { headers })).json();
  const google = { models: [{ name: expect.stringMatching(/^models\//) }] };
  for (const version of ['v1beta', 'v1alpha', 'v1'])
    expect(await get(`/${version}/models`, { 'x-goog-api-key': apiKey })).toMatchObject(google);
  expect(await get(`/v1beta/models?key=${apiKey}`, {})).toMatchObject(google);
  const anthropic = { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' };
  expect(await get('/v1/models/any', anthropic)).toMatchObject({ type: 'model' });
  expect(await get('/v1/models/any', { authorization: `Bearer ${apiKey}` })).toMatchObject({ object: 'model' });
});
