import { toErrorMessage } from '@agentjet/core';
import { installProgram } from '../swarm/programs/install-programs.js';
import { acpAgents, programs, type Program } from '../swarm/programs/programs.js';
import { complaintsAbout, runProgram } from '../swarm/programs/run-program.js';
import type { NightlyOutcome } from './nightly-job.js';
import { type EpisodeResult, runEach } from './run-each.js';

const all = { ...programs, ...acpAgents };

/**
 * Runs one episode, with a tool call, of each of these programs from the npm registry: Claude Code, Codex and OpenCode,
 * as programs and over the Agent Client Protocol. The swarm server is on loopback.
 */
export function run(): Promise<NightlyOutcome> {
  return runEach('programs', Object.keys(all) as (keyof typeof all)[], (name) => runOne(all[name]));
}

async function runOne(program: Program): Promise<EpisodeResult> {
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
