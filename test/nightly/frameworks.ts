import { readFileSync } from 'node:fs';
import path from 'node:path';
import { toErrorMessage } from '@agentjet/core';
import { makeEnvironment } from '../../.ci/python-environment.mjs';
import { complaintsAbout, folderOf, type Framework, frameworks, runAgent } from '../swarm/frameworks/run-agent.js';
import type { NightlyOutcome } from './nightly-job.js';
import { type EpisodeResult, runEach } from './run-each.js';

/**
 * Runs one episode with each of AutoGen, CrewAI, LangChain and smolagents on a swarm server, through `clients/python`,
 * if they can be installed.
 */
export function run(): Promise<NightlyOutcome> {
  return runEach('frameworks', frameworks, runOne);
}

async function runOne(framework: Framework): Promise<EpisodeResult> {
  const problem = makeEnvironment(folderOf(framework));
  if (problem !== undefined) return { skipped: problem };
  const versions = readFileSync(path.join(folderOf(framework), 'requirements.txt'), 'utf8')
    .trim()
    .split('\n');
  const start = performance.now();
  try {
    const outcome = await runAgent(framework);
    const { calls, forks } = outcome;
    const seconds = Math.round((performance.now() - start) / 100) / 10;
    return Object.assign({ complaints: complaintsAbout(framework, outcome) }, { versions, seconds, calls, forks });
  } catch (error) {
    return Object.assign({ complaints: [toErrorMessage(error)] }, { versions });
  }
}
