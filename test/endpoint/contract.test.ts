import { type AdapterReport, checkAdapter, formatReport } from '@agentjet/adapter-kit';
import { startEndpointServer, type EndpointServer } from '@agentjet/endpoint';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chatCompletionsDriver, geminiDriver, messagesDriver, responsesDriver } from './http-drivers.js';

let server: EndpointServer;

beforeAll(async () => {
  server = await startEndpointServer();
});

afterAll(() => server.close());

const checks: readonly (readonly [string, () => Promise<AdapterReport>])[] = [
  ['Chat Completions', () => checkAdapter(chatCompletionsDriver(server))],
  ['Responses', () => checkAdapter(responsesDriver(server))],
  ['Gemini', () => checkAdapter(geminiDriver(server))],
  ['Anthropic Messages', () => checkAdapter(messagesDriver(server))],
];

it.each(checks)('a client of %s over HTTP has every promise of an adapter kept', async (_name, check) => {
  const report = await check();
  expect(report.isKept, formatReport(report)).toBe(true);
});
