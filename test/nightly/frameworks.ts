import { readFileSync } from 'node:fs';
import path from 'node:path';
import { toErrorMessage } from '@agentjet/core';
import { makeEnvironment } from '../../.ci/python-environment.mjs';
import { complaintsAbout, folderOf, type Framework, frameworks, runAgent } from '../swarm/frameworks/run-agent.js';
import type { NightlyOutcome } from './nightly-job.js';

/** AutoGen, CrewAI, LangChain and smolagents: an episode each with a swarm server, through `clients/python`, where they can be installed. */
export async function run(): Promise<NightlyOutcome> {
  const results: Partial<Record<Framework, Result>> = {};
  for (const framework of frameworks) results[framework] = await runOne(framework);
  const all = Object.values(results);
  const numSkipped = all.filter((result) => 'skipped' in result).length;
  const numFailed = all.filter((result) => 'complaints' in result && result.complaints.length > 0).length;
  const numPassed = all.length - numSkipped - numFailed;
  return {
    passed: numFailed === 0 && numPassed > 0,
    summary: `${numPassed} frameworks ran an episode, ${numFailed} failed, ${numSkipped} could not be installed`,
    details: { frameworks: results },
  };
}

type Result = { readonly skipped: string } | { readonly complaints: readonly string[] };

async function runOne(framework: Framework): Promise<Result> {
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
