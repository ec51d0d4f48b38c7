import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { toErrorMessage } from '@agentjet/core';
import { makeEnvironment } from '../../.ci/python-environment.mjs';
import { frameworkNames } from '../frameworks/project.js';
import { type FrameworkRow, withSince } from '../frameworks/table.js';
import { tryFrameworks } from '../frameworks/try-frameworks.js';
import { complaintsAbout, folderOf, type Framework, frameworks, runAgent } from '../swarm/frameworks/run-agent.js';
import type { NightlyOutcome } from './nightly-job.js';
import { type EpisodeResult, runEach } from './run-each.js';

/**
 * Runs agents of TypeScript frameworks over a scripted engine, and keeps the table of those that work. Then runs one
 * episode with each of AutoGen, CrewAI, LangChain and smolagents on a swarm server, through `clients/python`, if they
 * can be installed.
 */
export async function run(): Promise<NightlyOutcome> {
  const table = withSince(tryFrameworks(frameworkNames, report), readEarlier(), new Date().toISOString().slice(0, 10));
  const rows = Object.values(table);
  const numTried = rows.filter((row) => 'works' in row).length;
  const numWorking = rows.filter((row) => 'works' in row && row.works).length;
  const python = await runEach('frameworks', frameworks, runOne);
  return {
    passed: numWorking === numTried && numTried > 0 && python.passed,
    summary: `${numWorking} of ${numTried} TypeScript frameworks work, ${rows.length - numTried} could not be tried; in Python ${python.summary}`,
    details: { frameworks: table, python: python.details['frameworks'] },
  };
}

function report(name: string, row: object): void {
  console.log(`${name}: ${JSON.stringify(row)}`);
}

function readEarlier(): Readonly<Record<string, FrameworkRow>> {
  const file = path.join(import.meta.dirname, 'results/frameworks.json');
  if (!existsSync(file)) return {};
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly frameworks: Readonly<Record<string, FrameworkRow>> })
    .frameworks;
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
