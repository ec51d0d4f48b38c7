import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createConfig } from '@agentjet/inputs/testing';
import { openEndpointModel, openEndpointPolicy } from './endpoint-policy.js';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  return JSON.parse(Buffer.concat(chunks).toString() || '{}');
}

const hello = { choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }] };
const greet = { messages: [{ role: 'user', content: 'hello' }] } as const;

/** Starts a server that lists two models and answers calls with `answer`. */
async function serve(answer: { readonly status: number; readonly body: unknown }) {
  const bodies: unknown[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      bodies.push(body);
      const models = { status: 200, body: { data: [{ id: 'first' }, { id: 'second' }] } };
      const { status, body: given } = answer.status === 200 && request.url === '/v1/models' ? models : answer;
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(given));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, bodies };
}

const configOf = (model: string | null, more: object = {}) =>
  createConfig({ debug: { model, apiKey: 'sk-1' }, ...more });

it('takes the first model that the endpoint lists, and samples as the configuration says', async () => {
  const { baseUrl, bodies } = await serve({ status: 200, body: hello });
  const model = await openEndpointModel(configOf(null), baseUrl);
  expect(model.name).toBe('first');
  await model.generate({ ...greet, sampling: { temperature: 0.25 } });
  expect(bodies[1]).toMatchObject({ model: 'first', temperature: 0.25, top_p: 1, seed: expect.any(Number) });
});

it('gives the variables of the chat template to the endpoint', async () => {
  const { baseUrl, bodies } = await serve({ status: 200, body: hello });
  const config = createConfig({
    debug: { model: 'm', apiKey: 'sk-1' },
    model: { chatTemplateKwargs: { enable_thinking: false } },
  });
  const { model } = (await openEndpointPolicy(config, baseUrl)) as Extract<
    Awaited<ReturnType<typeof openEndpointPolicy>>,
    { readonly kind: 'chat' }
  >;
  if (typeof model !== 'function') throw new Error('a model for each agent');
  await model({ agentName: 'solver', targetTag: 'solver' }).generate(greet);
  expect(bodies[0]).toMatchObject({ chat_template_kwargs: { enable_thinking: false } });
});

it('says what is wrong with an address where nothing listens', async () => {
  const { baseUrl } = await serve({ status: 200, body: hello });
  servers[0]?.close();
  await expect(openEndpointModel(configOf(null), baseUrl)).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringMatching(/debug\.base_url .* cannot be reached: .*ECONNREFUSED/),
  });
});

it('says what to do about a key that is refused, and about a wrong address', async () => {
  const locked = await serve({ status: 401, body: { error: { message: 'Incorrect API key' } } });
  await expect(openEndpointModel(configOf(null), locked.baseUrl)).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringMatching(/refuses the key: .*status 401: .*Incorrect API key.*Set debug\.api_key/),
  });
  const model = await openEndpointModel(configOf('m'), locked.baseUrl);
  await expect(model.generate(greet)).rejects.toThrow(
    /status 401: .*Set debug\.api_key, or the environment variable OPENAI_API_KEY/,
  );
  const elsewhere = await serve({ status: 404, body: 'not here' });
  const lost = await openEndpointModel(configOf('m'), elsewhere.baseUrl);
  await expect(lost.generate(greet)).rejects.toThrow(
    /status 404: .*not here.*Does debug\.base_url end as it should \(often in \/v1\), and is there a model "m"\?/,
  );
});
