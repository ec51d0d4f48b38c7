import { type AdapterReport, checkAdapter, formatReport } from '@agentjet/adapter-kit';
import { startEndpointServer, type EndpointServer } from '@agentjet/endpoint';
import type { WrapModel } from '@agentjet/rollout';
import { createRemoteModel, systemClientHost } from '@agentjet/swarm-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { anthropicDriver } from '../adapters/anthropic-driver.js';
import { aiSdkDriver } from '../adapters/ai-sdk-driver.js';
import { googleDriver } from '../adapters/google-driver.js';
import { langgraphDriver } from '../adapters/langgraph-driver.js';
import { openaiAgentsDriver } from '../adapters/openai-agents-driver.js';
import { openaiDriver } from '../adapters/openai-driver.js';
import { reactDriver } from '../adapters/react-driver.js';
import { longIt } from '../long-tests.js';

/** Runs the contract suite of each adapter with a tuned model in another process. */

let server: EndpointServer;
let numCalls = 0;

const countingFetch: typeof fetch = (...args) => {
  numCalls++;
  return fetch(...args);
};

beforeAll(async () => {
  server = await startEndpointServer();
});

afterAll(() => server.close());

const overHttp: WrapModel =
  ({ episodeId, signal }) =>
  (model, { agentName }) => {
    const { baseUrl: address, apiKey: key } = server.open({ episodeId, agentName, model, signal });
    return createRemoteModel({ host: systemClientHost, fetch: countingFetch, address, key, name: model.name });
  };

const checks: readonly (readonly [string, () => Promise<AdapterReport>])[] = [
  ['react', () => checkAdapter(reactDriver, { wrapModel: overHttp })],
  ['openai', () => checkAdapter(openaiDriver, { wrapModel: overHttp })],
  ['langgraph', () => checkAdapter(langgraphDriver, { wrapModel: overHttp })],
  ['ai-sdk', () => checkAdapter(aiSdkDriver, { wrapModel: overHttp })],
  ['openai-agents', () => checkAdapter(openaiAgentsDriver, { wrapModel: overHttp })],
];

/** These adapters share the code of `openai` between the SDK and the model. */
const longChecks: typeof checks = [
  ['anthropic', () => checkAdapter(anthropicDriver, { wrapModel: overHttp })],
  ['google', () => checkAdapter(googleDriver, { wrapModel: overHttp })],
];

async function expectKept(check: () => Promise<AdapterReport>): Promise<void> {
  const callsBefore = numCalls;
  const report = await check();
  expect(numCalls - callsBefore).toBeGreaterThan(50);
  expect(report.isKept, formatReport(report)).toBe(true);
}

it.each(checks)('%s keeps every promise of an adapter over HTTP', (_name, check) => expectKept(check));
longIt.each(longChecks)('%s keeps every promise of an adapter over HTTP', (_name, check) => expectKept(check));
