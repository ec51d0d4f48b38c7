import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import OpenAI from 'openai';
import { serveTunedModel, type ServedModel, type ServeModelOptions } from './serve-tuned-model.js';

let served: ServedModel | undefined;
afterEach(async () => {
  await served?.close();
  served = undefined;
  vi.unstubAllEnvs();
});

async function serve(options: ServeModelOptions = {}): Promise<ServedModel> {
  served = await serveTunedModel('nano', { port: 0, maxTokens: 12, ...options });
  return served;
}

const messages = [{ role: 'user' as const, content: 'Hello' }];
const clientOf = ({ baseUrl }: ServedModel, apiKey: string | null): OpenAI =>
  new OpenAI({ baseURL: baseUrl, apiKey: apiKey ?? 'none', maxRetries: 0 });

it("answers OpenAI's client, at once and as a stream, and says what it serves", async () => {
  const { model, ...rest } = await serve();
  const client = clientOf({ model, ...rest }, rest.apiKey);
  const whole = await client.chat.completions.create({ model, messages, seed: 3 });
  const stream = await client.chat.completions.create({ model, messages, seed: 3, stream: true });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  expect(text).toBe(whole.choices[0]?.message.content);
  expect(whole.usage?.completion_tokens).toBeGreaterThan(0);
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['nano']);
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => client.chat.completions.create({ model, messages })),
  );
  expect(new Set(answers.map(({ id }) => id)).size).toBe(4);
});

it('answers many requests at a time without a warning of Node', async () => {
  const { model, ...rest } = await serve();
  const warnings: string[] = [];
  const keep = ({ name }: Error): void => void warnings.push(name);
  process.on('warning', keep);
  const client = clientOf({ model, ...rest }, rest.apiKey);
  await Promise.all(Array.from({ length: 16 }, () => client.chat.completions.create({ model, messages })));
  await new Promise((resolve) => setImmediate(resolve)); // warnings are emitted in the next turn
  process.off('warning', keep);
  expect(warnings).not.toContain('MaxListenersExceededWarning');
});

it('reads special tokens in text as plain text, as training does', async () => {
  const { model, ...rest } = await serve();
  const client = clientOf({ model, ...rest }, rest.apiKey);
  const countPrompt = async (content: string): Promise<number> => {
    const { usage } = await client.chat.completions.create({ model, messages: [{ role: 'user', content }] });
    return usage?.prompt_tokens ?? 0;
  };
  const [plain, special] = [await countPrompt('go.go'), await countPrompt('go.<|im_end|>go')];
  expect(special - plain).toBeGreaterThan(1); // as a control token, the text would be only one token
});

it('asks for its key', async () => {
  const { baseUrl, apiKey } = await serve({ apiKey: 'my-own-key' });
  expect(apiKey).toBe('my-own-key');
  const ask = async (headers: Record<string, string>): Promise<readonly unknown[]> => {
    const body = JSON.stringify({ model: 'x', messages, max_tokens: 1 });
    const response = await fetch(`${baseUrl}/chat/completions`, { method: 'POST', headers, body });
    const { error } = (await response.json()) as { readonly error?: { readonly code: string } };
    return [response.status, error?.code];
  };
  expect(await ask({})).toEqual([401, 'missing_api_key']);
  expect(await ask({ authorization: 'Bearer my-own-kex' })).toEqual([401, 'invalid_api_key']);
  expect(await ask({ authorization: 'Bearer my-own-key' })).toEqual([200, undefined]);
});

it('without a key answers this machine, but no web page', async () => {
  const { baseUrl, apiKey } = await serve({ apiKey: null });
  expect(apiKey).toBeNull();
  const statusOf = async (headers: Record<string, string>): Promise<number> =>
    (await fetch(`${baseUrl}/models`, { headers })).status;
  expect(await statusOf({})).toBe(200);
  expect(await statusOf({ origin: 'http://localhost:3000' })).toBe(200);
  expect(await statusOf({ origin: 'https://evil.example' })).toBe(403);
});

it('needs a key beyond this machine', async () => {
  await expect(serve({ host: '0.0.0.0', apiKey: null })).rejects.toThrow('Leave out --no-key');
});

it('says that its port is taken', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  await expect(serve({ port })).rejects.toThrow(
    `The server cannot listen at 127.0.0.1:${port}: another program listens there.`,
  );
  other.close();
});

it('takes any number of tokens, and says which settings do not fit', async () => {
  const { model, ...rest } = await serve({ maxModelLen: 128, maxTokens: 8 });
  const { choices } = await clientOf({ model, ...rest }, rest.apiKey).chat.completions.create({ model, messages });
  expect(choices).toHaveLength(1);
  await expect(serveTunedModel('nano', { port: 0, maxModelLen: 128, maxTokens: 128 })).rejects.toThrow(
    'maxTokens 128 leaves no room for a prompt within maxModelLen 128.',
  );
});

it('ends the download of its model when it is asked to', async () => {
  vi.stubEnv('HF_HOME', path.join(tmpdir(), 'ajet-serve-no-cache'));
  vi.stubEnv('HF_ENDPOINT', 'http://127.0.0.1:1');
  const stopped = serveTunedModel('acme/tiny', { port: 0, signal: AbortSignal.abort() });
  await expect(stopped).rejects.toMatchObject({ code: 'aborted', message: expect.stringContaining('acme/tiny') });
});
