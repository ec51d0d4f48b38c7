import { toErrorMessage } from '@agentjet/core';
import { installProgram } from '../swarm/programs/install-programs.js';
import { programs, type Program, type ProgramName } from '../swarm/programs/programs.js';
import { complaintsAbout, runProgram } from '../swarm/programs/run-program.js';
import type { NightlyOutcome } from './nightly-job.js';

/** Claude Code, Codex and OpenCode from the npm registry: an episode each, with a tool call, against a swarm server on loopback. */
export async function run(): Promise<NightlyOutcome> {
  const results: Partial<Record<ProgramName, Result>> = {};
  for (const name of Object.keys(programs) as ProgramName[]) results[name] = await runOne(programs[name]);
  const all = Object.values(results);
  const numSkipped = all.filter((result) => 'skipped' in result).length;
  const numFailed = all.filter((result) => 'complaints' in result && result.complaints.length > 0).length;
  const numPassed = all.length - numSkipped - numFailed;
  return {
    passed: numFailed === 0 && numPassed > 0,
    summary: `${numPassed} programs ran an episode, ${numFailed} failed, ${numSkipped} could not be installed`,
    details: { programs: results },
  };
}

type Result = { readonly skipped: string } | { readonly complaints: readonly string[] };

async function runOne(program: Program): Promise<Result> {
  const installed = installProgram(program);
  if ('problem' in installed) return { skipped: installed.problem };
  const { version } = program;
  try {
    const outcome = await runProgram(program, installed.bin);
    return Object.assign({ complaints: complaintsAbout(outcome) }, { version, requests: outcome.exchanges.length });
  } catch (error) {
    return Object.assign({ complaints: [toErrorMessage(error)] }, { version });
  }
}
