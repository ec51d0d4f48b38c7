/**
 * `npm run swarm:programs -- [claude-code codex opencode 'acp codex' ...] [--record] [--json]` runs one episode with
 * each of these real coding agents from the npm registry: as programs, and over the Agent Client Protocol (acp). With
 * --record, the requests of the programs are kept in transcripts/. The exit code is 1 if an episode fails.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { installProgram } from './install-programs.js';
import { acpAgents, isProgramName, programs, type Program } from './programs.js';
import { complaintsAbout, runProgram } from './run-program.js';
import { toRequests, type Transcript } from './transcript.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { record: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
});
const all: Readonly<Record<string, Program>> = { ...programs, ...acpAgents };
const unknown = positionals.filter((name) => !Object.hasOwn(all, name));
if (unknown.length > 0) {
  console.error(`There is no program "${unknown.join('", "')}". The programs are: ${Object.keys(all).join(', ')}.`);
  process.exit(1);
}

const chosen = Object.entries(all).filter(([name]) => positionals.length === 0 || positionals.includes(name));
for (const [name, program] of chosen) {
  const installed = installProgram(program);
  if ('problem' in installed) {
    tell({ name, problem: installed.problem });
    process.exitCode = 1;
    continue;
  }
  const outcome = await runProgram(program, installed.bin);
  const complaints = complaintsAbout(outcome);
  tell({ name, version: program.version, complaints, requests: outcome.exchanges.length });
  if (complaints.length > 0) process.exitCode = 1;
  else if (values.record && isProgramName(name)) {
    const { package: from, version } = program;
    const transcript: Transcript = { package: from, version, requests: toRequests(outcome.exchanges) };
    writeFileSync(path.join(import.meta.dirname, 'transcripts', `${name}.json`), print(transcript));
  }
}

/** Prints one request per line. */
function print({ requests, ...head }: Transcript): string {
  const lines = requests.map((request) => `    ${JSON.stringify(request)}`);
  const start = JSON.stringify(head, null, 2).replace(/\n\}$/, '');
  return `${start},\n  "requests": [\n${lines.join(',\n')}\n  ]\n}\n`;
}

type Told = {
  readonly name: string;
  readonly version?: string;
  readonly problem?: string;
  readonly complaints?: readonly string[];
  readonly requests?: number;
};

function tell(told: Told): void {
  if (values.json) {
    console.log(JSON.stringify(told));
    return;
  }
  const { name, version = '', problem, complaints = [], requests = 0 } = told;
  const how = problem ?? (complaints.length > 0 ? complaints.join('\n  ') : `${requests} requests, as it must be`);
  console.log(`${name} ${version}: ${how}`);
}
