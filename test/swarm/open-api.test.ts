import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { createAgentApp } from '@agentjet/endpoint';
import { createSwarmApp, serveSwarm, type ServedSwarm } from '@agentjet/swarm-server';
import { createOpenApi, errorCodes, errorsOf, errorStatus, modelRoutes, routes } from '@agentjet/swarm-wire';
import { configuration } from 'agentjet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DocumentClient, type ApiDocument } from './document-client.js';

/** These tests check that the OpenAPI document is valid, complete, and true of the server. */

const document = createOpenApi() as unknown as ApiDocument;
const operations = Object.entries(document.paths).flatMap(([route, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ route, method, operation })),
);

describe('the document', () => {
  it('is valid OpenAPI 3.1, and names each operation once', async () => {
    const { valid, errors } = await new Validator().validate(
      structuredClone(document) as unknown as Record<string, unknown>,
    );
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    const names = operations.map(({ operation }) => operation.operationId);
    expect(new Set(names).size).toBe(names.length);
  });

  it('describes each parameter and each field', () => {
    const silent: string[] = [];
    const look = (node: unknown, place: string): void => {
      if (typeof node !== 'object' || node === null) return;
      const { properties = {} } = node as { readonly properties?: Readonly<Record<string, { description?: string }>> };
      for (const [name, { description = '' }] of Object.entries(properties))
        if (description === '') silent.push(`${place}: ${name}`);
      for (const value of Object.values(node)) look(value, place);
    };
    for (const { route, method, operation } of operations) {
      look(operation, `${method} ${route}`);
      for (const { name, description } of operation.parameters as readonly { name: string; description?: string }[])
        if (description === undefined) silent.push(`${method} ${route}: parameter ${name}`);
    }
    look(document.components, 'components');
    expect(silent).toEqual([]);
  });
});

/** Reads the source files below a folder, without tests. */
function readSources(dir: string): string {
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' });
  const sources = files.filter((file) => file.endsWith('.ts') && !file.includes('.test.'));
  return sources.map((file) => readFileSync(path.join(dir, file), 'utf8')).join('\n');
}

describe('the document and the server', () => {
  const toDocument = (route: string): string =>
    route
      .replaceAll(/:(\w+)(\{[^}]*\})?/g, '{$1}')
      .replace(/\/v1(alpha|beta)\//, '/v1beta/')
      .replace('/models/*', '/models/{model}');
  /** Gemini's API has one address for its calls, under three versions. The document describes the calls under one. */
  const geminiCalls = ['generateContent', 'streamGenerateContent', 'countTokens'];
  const described = (route: string): readonly string[] =>
    route.endsWith('/models/{call}')
      ? geminiCalls.map((call) => route.replace(/\/v1(beta)?\/models\/\{call\}$/, `/v1beta/models/{model}:${call}`))
      : [route];
  const served = (app: { readonly routes: readonly { readonly method: string; readonly path: string }[] }) =>
    new Set(
      app.routes
        .filter(({ method }) => method !== 'ALL')
        .flatMap(({ method, path: route }) =>
          described(toDocument(route)).map((each) => `${method.toLowerCase()} ${each}`),
        ),
    );

  it('have the same routes', () => {
    const described = new Set(operations.map(({ route, method }) => `${method} ${route}`));
    const refuse = (): never => {
      throw new Error('Nobody calls it.');
    };
    const apps = [
      createSwarmApp(() => undefined),
      ...['/e/:episode/:agent', '/e/:episode'].map((base) => createAgentApp(base, refuse)),
    ];
    expect(described).toEqual(new Set(apps.flatMap((app) => [...served(app)])));
    expect(described.size).toBe(routes.length + 2 * modelRoutes.length);
  });

  it('have the same headers', () => {
    const described = new Set(
      operations.flatMap(({ operation }) =>
        operation.parameters.filter((each) => each.in === 'header').map(({ name }) => name),
      ),
    );
    const sources = ['swarm-server', 'endpoint', 'chat-completions', 'swarm-wire']
      .map((name) => readSources(`packages/${name}/src`))
      .join('\n');
    for (const name of described) expect(sources).toMatch(new RegExp(`['"]?${name}['"]?[\\],:)\\s;]`));
    const read = [...sources.matchAll(/(?:header\(|headers\.get\(|[hH]eaders?\[|Header = )'([a-z-]+)'/g)].flatMap(
      ([, name]) => name ?? [],
    );
    expect(read.length).toBeGreaterThan(8);
    const byProtocol = [
      'authorization',
      'x-api-key',
      'x-goog-api-key',
      'origin',
      'host',
      'connection',
      'allow',
      'retry-after',
    ];
    const ofTransport = [
      'content-length',
      'content-encoding',
      'content-type',
      'transfer-encoding',
      'x-stainless-retry-count',
    ];
    const unknown = read.filter((name) => !described.has(name) && ![...byProtocol, ...ofTransport].includes(name));
    expect(unknown.filter((name) => !name.startsWith('x-forwarded-'))).toEqual([]);
  });

  it('have the same error codes', () => {
    const described = new Set(routes.flatMap(errorsOf));
    const thrown = [...readSources('packages/swarm-server/src').matchAll(/new WireError\(\s*'(\w+)'/g)].flatMap(
      ([, code]) => code ?? [],
    );
    expect(thrown.length).toBeGreaterThan(30);
    const ofCalls = ['policy_failed', 'target_not_trained']; // these errors have the form of the model's protocol
    expect(thrown.filter((code) => !described.has(code as never) && !ofCalls.includes(code))).toEqual([]);
    const unused = errorCodes.filter((code) => !described.has(code) && !ofCalls.includes(code));
    expect(unused).toEqual(['unknown_task']);
    for (const route of routes) {
      const statuses = Object.keys(document.paths[`/swarm/v1${route.path}`]?.[route.method]?.responses ?? {});
      for (const code of errorsOf(route)) expect(statuses).toContain(String(errorStatus(code)));
    }
  });
});

describe('a client that reads only the document', () => {
  let dir = '';
  let served: ServedSwarm;
  let client: DocumentClient;
  let commander = '';

  beforeAll(async () => {
    dir = mkdtempSync(path.join(tmpdir(), 'open-api-'));
    const config = configuration.create({
      experimentDir: dir,
      model: { path: 'nano' },
      data: { trainBatchSize: 1 },
      rollout: { numRepeat: 2, maxResponseLengthInOneTurn: 4 },
      trainerCommon: { totalTrainingSteps: 1, valBeforeTrain: false, maxEmptySteps: null },
      onnx: { numThreads: 1 },
    });
    served = await serveSwarm({ config, composition: configuration, port: 0, onNotice: () => undefined });
    const { url, firstKey = '' } = served.server;
    commander = firstKey;
    const response = await fetch(`${url}/swarm/v1/openapi.json`, { headers: { authorization: `Bearer ${commander}` } });
    client = new DocumentClient((await response.json()) as ApiDocument, url);
  });
  afterAll(async () => {
    await served.close();
    rmSync(dir, { recursive: true, force: true });
  });

  it('runs an episode from the claim to the end', async () => {
    const { body: key } = await client.call('postKeys', { key: commander, body: { name: 'lab', role: 'worker' } });
    const worker = String(key['key']);
    const tasks = ['a', 'b'].map((task_id, index) => ({
      task_id,
      index,
      hash: 'h',
      task: { task_id, main_query: 'Hi' },
    }));
    expect(await client.call('postTasks', { key: worker, body: { tasks, total: 2 } })).toMatchObject({ status: 200 });
    const wrong = client.call('postEpisodes', { key: worker, body: { claim_id: 'c1', name: 'robot' } });
    await expect(wrong).rejects.toThrow('name');
    const claim = { claim_id: 'c1', client: 'robot', life: '1', wait_seconds: 30 };
    const claimed = await client.call('postEpisodes', { key: worker, body: claim });
    expect(claimed.status).toBe(201);
    const [episode] = claimed.body['episodes'] as readonly { episode_id: string; key: string; model: string }[];
    const { episode_id: id, key: episodeKey, model } = episode ?? { episode_id: '', key: '', model: '' };
    const params = { episode: id, agent: 'speaker' };
    const body = { model, messages: [{ role: 'user', content: 'Hi' }] };
    const called = await client.call('postChatCompletions', { key: episodeKey, params, body });
    expect(called.body['choices']).toHaveLength(1);
    expect((await client.call('getModels', { key: episodeKey, params })).status).toBe(200);
    const end = { client: 'robot', status: 'completed', reward: 1 };
    const ended = await client.call('postEpisodesEnd', { key: worker, params: { id }, body: end });
    expect(ended).toMatchObject({ status: 200, body: { episode_id: id, status: 'completed', state: 'pooled' } });
    const listed = await client.call('getEpisodes', { key: worker, params: { state: 'pooled', limit: '5' } });
    expect(listed.body['episodes']).toMatchObject([{ episode_id: id, reward: 1 }]);
  });

  it('gets described errors and media', async () => {
    const end = { client: 'robot', status: 'completed', reward: 1 };
    const refused = async (operation: string, sent: Parameters<DocumentClient['call']>[1]): Promise<unknown> => {
      const { status, body } = await client.call(operation, { key: commander, ...sent });
      return [status, (body['error'] as { code: string }).code];
    };
    expect(await refused('postEpisodesEnd', { params: { id: 'none' }, body: end })).toEqual([410, 'gone']);
    expect(await refused('getOperationsById', { params: { id: 'none' } })).toEqual([404, 'unknown_operation']);
    expect(await refused('getServer', { key: 'ajk_observer_a_b' })).toEqual([401, 'unknown_key']);
    expect(await refused('getModels', { params: { episode: 'none', agent: 'a' } })).toEqual([401, 'invalid_api_key']);
    expect((await client.call('getMetrics', { key: commander })).body['text']).toContain('agentjet_swarm_step');
    expect((await client.call('getReadyz')).body).toEqual({ ok: true, state: 'rolling' });
    expect((await client.call('deleteEpisodes', { key: commander, params: { key: 'x' } })).body).toEqual({
      dropped: 0,
    });
    const { server } = served;
    const wrong = await fetch(`${server.url}/swarm/v1/episodes?stat=running`, {
      headers: { authorization: `Bearer ${commander}` },
    });
    expect([wrong.status, (await wrong.json()) as unknown]).toMatchObject([
      400,
      { error: { code: 'invalid_request', message: '"stat" is "running"; there is no such parameter.' } },
    ]);
  });
});
