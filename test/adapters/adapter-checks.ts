import { type AdapterReport, checkAdapter } from '@agentjet/adapter-kit';
import { anthropicDriver } from './anthropic-driver.js';
import { aiSdkDriver } from './ai-sdk-driver.js';
import { googleDriver } from './google-driver.js';
import { langgraphDriver } from './langgraph-driver.js';
import { openaiAgentsDriver } from './openai-agents-driver.js';
import { openaiDriver } from './openai-driver.js';
import { reactDriver } from './react-driver.js';

/** The contract suite of each adapter. */
export const adapterChecks: readonly (readonly [name: string, check: () => Promise<AdapterReport>])[] = [
  ['react', () => checkAdapter(reactDriver)],
  ['openai', () => checkAdapter(openaiDriver)],
  ['anthropic', () => checkAdapter(anthropicDriver)],
  ['google', () => checkAdapter(googleDriver)],
  ['langgraph', () => checkAdapter(langgraphDriver)],
  ['ai-sdk', () => checkAdapter(aiSdkDriver)],
  ['openai-agents', () => checkAdapter(openaiAgentsDriver)],
];
