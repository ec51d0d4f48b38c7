import type { NightlyOutcome } from './nightly-job.js';
import { runInEnvironment } from './vitest-outcome.js';

/**
 * Runs the Python clients of OpenAI, Anthropic and LangChain against the endpoint, and the tutorial of agents in other
 * languages.
 */
export async function run(): Promise<NightlyOutcome> {
  return runInEnvironment('test/endpoint/python/setup.mjs', [
    'test/endpoint/python-clients.test.ts',
    'tutorial/any-language',
  ]);
}
