import { type AdapterReport, checkAdapter, formatReport } from '@agentjet/adapter-kit';
import { startEndpointServer, type EndpointServer } from '@agentjet/endpoint';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { anthropicDriver, chatCompletionsDriver, responsesDriver } from './http-drivers.js';

let server: EndpointServer;

beforeAll(async () => {
  server = await startEndpointServer();
});

afterAll(() => server.close());

/** This case is left out for Anthropic's API, whose requests always say how long an answer may be. */
const cannotLeaveOpen = 'Options that a call leaves open come from the run, and each call has its own seed.';

const checks: readonly (readonly [string, readonly string[], () => Promise<AdapterReport>])[] = [
  ['Chat Completions', [], () => checkAdapter(chatCompletionsDriver(server))],
  ['Responses', [], () => checkAdapter(responsesDriver(server))],
  ['Anthropic Messages', [cannotLeaveOpen], () => checkAdapter(anthropicDriver(server))],
];

it.each(checks)('a client of %s over HTTP has every promise of an adapter kept', async (_name, exceptions, check) => {
  const report = await check();
  const broken = report.results.filter(({ outcome }) => outcome === 'broken').map(({ promise }) => promise);
  expect(broken, formatReport(report)).toEqual(exceptions);
});
