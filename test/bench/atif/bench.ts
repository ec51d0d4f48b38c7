/**
 * Are the episodes of a run valid trajectories in ATIF, and do they come back bit for bit? It trains two tutorials for a
 * few steps: werewolves, with several agents and answers that are cut, and math-agent, with tool calls. Scripted
 * episodes add forks and answers of other models. Harbor's own validator checks the documents. Its wheel comes from
 * PyPI, and without it the bench fails.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { type AtifDocument, readTrajectory, toTokenRow } from '@agentjet/atif';
import { isJsonObject, isSameJson, type JsonObject } from '@agentjet/core';
import { writeAtif } from '@agentjet/inspect';
import { openRunFolder } from '@agentjet/run-folder';
import { AgentJetJob } from 'agentjet';
import { recordEpisode, recordRun } from '../../atif/recorded-run.js';
import type { BenchOptions, BenchResult } from '../bench.js';

const run$ = promisify(execFile);
const root = path.resolve(import.meta.dirname, '../../..');
const harbor = 'harbor==0.25.0';
/** The token limit of werewolves cuts some answers. */
const limits: Readonly<Record<string, number>> = { werewolves: 8, 'math-agent': 64 };
const tutorials = Object.keys(limits);
const numScripted = 20;
const overrides = [
  'trainer_common.total_training_steps=2',
  'trainer_common.val_before_train=false',
  'trainer_common.test_freq=0',
  'trainer_common.save_freq=0',
];

/** `valid` and `round_trip_equal` count documents. They equal `documents` if nothing is wrong. */
export type AtifResult = {
  readonly episodes: number;
  readonly documents: number;
  readonly valid: number;
  readonly round_trip_equal: number;
  readonly forks: number;
  readonly cut_answers: number;
  readonly agents: number;
};

export async function run({ report }: Pick<BenchOptions, 'report'>): Promise<BenchResult> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'atif-'));
  try {
    const wheel = await unpackHarbor(scratch);
    const results: AtifResult[] = [];
    for (const name of [...tutorials, 'scripted']) {
      const runDir = name === 'scripted' ? await script(scratch) : await train(name, scratch);
      results.push(await measure(name, runDir, { scratch, wheel, report }));
    }
    const sum = (name: keyof AtifResult): number => results.reduce((total, each) => total + each[name], 0);
    const names = ['episodes', 'documents', 'valid', 'round_trip_equal', 'forks', 'cut_answers', 'agents'] as const;
    return {
      summary: Object.fromEntries(names.map((name) => [name, sum(name)])),
      details: { harbor, runs: Object.fromEntries([...tutorials, 'scripted'].map((name, at) => [name, results[at]])) },
    };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Downloads the wheel and unpacks it. A wheel is a zip, and Python can read it. */
async function unpackHarbor(scratch: string): Promise<string> {
  const folder = path.join(scratch, 'wheel');
  const flags = ['--no-deps', '--python-version', '3.12', '--only-binary=:all:'];
  await run$('python3', ['-m', 'pip', 'download', '-q', ...flags, '-d', folder, harbor]);
  const [file = ''] = await readdir(folder);
  const unpacked = path.join(scratch, 'harbor');
  await run$('python3', ['-m', 'zipfile', '-e', path.join(folder, file), unpacked]);
  return unpacked;
}

type Surroundings = Pick<BenchOptions, 'report'> & { readonly scratch: string; readonly wheel: string };

/** Trains a tutorial and returns the folder of its run. */
async function train(name: string, scratch: string): Promise<string> {
  const file = path.join(root, 'tutorial', name, `${name.replaceAll('-', '_')}.yaml`);
  const { runDir } = await new AgentJetJob()
    .loadJobFromYaml(file, [
      ...overrides,
      `ajet.experiment_dir=${path.join(scratch, name)}`,
      `rollout.max_response_length_in_one_turn=${limits[name]}`,
    ])
    .tune({ onEvent: () => {} });
  if (runDir === null) throw new Error(`The training of ${name} has no run folder.`);
  return runDir;
}

async function script(scratch: string): Promise<string> {
  const ids = Array.from({ length: numScripted }, (_, at) => `e1-t${at}-r0`);
  return (await recordRun(scratch, await Promise.all(ids.map(recordEpisode)))).dir;
}

async function measure(name: string, runDir: string, { scratch, wheel, report }: Surroundings): Promise<AtifResult> {
  const target = path.join(scratch, `${name}-atif`);
  const { episodes, documents } = await writeAtif(runDir, target);
  const { stdout } = await run$('python3', [path.join(import.meta.dirname, 'validate.py'), wheel, target]);
  const { valid, errors }: { readonly valid: number; readonly errors: readonly string[] } = JSON.parse(stdout);
  for (const error of errors.slice(0, 5)) report(error);
  const read = await readAll(target);
  const kept = await readRows(runDir);
  const facts = {
    round_trip_equal: read.filter((document) => isSameJson(toTokenRow(document), kept.get(idOf(document)))).length,
    forks: read.filter(({ extra }) => oursOf(extra)['fork_of'] !== undefined).length,
    cut_answers: read.flatMap(({ steps }) => steps).filter(({ extra }) => oursOf(extra)['is_truncated'] === true)
      .length,
    agents: new Set(read.map(({ agent }) => agent.name)).size,
  };
  const result = { episodes, documents, valid, ...facts };
  report(`${name}: ${JSON.stringify(result)}`);
  return result;
}

const idOf = ({ trajectory_id: id = '' }: AtifDocument): string => id;
const oursOf = (extra: JsonObject | undefined): JsonObject =>
  isJsonObject(extra?.['agentjet']) ? extra['agentjet'] : {};

async function readAll(folder: string): Promise<readonly AtifDocument[]> {
  const files = await readdir(folder);
  return Promise.all(
    files.map(async (file) => readTrajectory(JSON.parse(await readFile(path.join(folder, file), 'utf8')))),
  );
}

/** Returns the rows of all episodes, by the id that their document has. */
async function readRows(runDir: string): Promise<ReadonlyMap<string, unknown>> {
  const { episodes } = await openRunFolder(runDir);
  const rows = new Map<string, unknown>();
  for (const step of await episodes.steps())
    for (const { episode_id: id, samples } of await episodes.readStep(step)) {
      const numOf = new Map<string, number>();
      for (const { agent_name: agent, target_tag: _target, ...row } of samples) {
        const num = numOf.get(agent) ?? 0;
        numOf.set(agent, num + 1);
        rows.set(`${id}/${agent}/${num}`, row);
      }
    }
  return rows;
}
