import { type AdapterReport, checkAdapter, formatReport } from '@agentjet/adapter-kit';
import { expect, it } from 'vitest';
import { anthropicDriver } from './anthropic-driver.js';
import { aiSdkDriver } from './ai-sdk-driver.js';
import { googleDriver } from './google-driver.js';
import { langgraphDriver } from './langgraph-driver.js';
import { openaiAgentsDriver } from './openai-agents-driver.js';
import { openaiDriver } from './openai-driver.js';
import { reactDriver } from './react-driver.js';

const checks: readonly (readonly [string, () => Promise<AdapterReport>])[] = [
  ['react', () => checkAdapter(reactDriver)],
  ['openai', () => checkAdapter(openaiDriver)],
  ['anthropic', () => checkAdapter(anthropicDriver)],
  ['google', () => checkAdapter(googleDriver)],
  ['langgraph', () => checkAdapter(langgraphDriver)],
  ['ai-sdk', () => checkAdapter(aiSdkDriver)],
  ['openai-agents', () => checkAdapter(openaiAgentsDriver)],
];

it.each(checks)('%s keeps every promise of an adapter', async (_name, check) => {
  const report = await check();
  expect(report.isKept, formatReport(report)).toBe(true);
});
