import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { accountOf, foldStore, LmdbStore, verifyStore } from '@agentjet/ledger';
import { SwarmClient } from '@agentjet/swarm-client';
import type { ConfigAnswer, ServerAnswer } from '@agentjet/swarm-wire';
import type { TaskInput } from 'agentjet';
import { FrozenLakeWorkflow } from '#tutorial/frozen-lake/frozen-lake-workflow.js';
import { drawTasks } from '#tutorial/frozen-lake/lake-tasks.js';
import { Operator } from './operator.js';
import { freePort } from '../free-port.js';
import { startBash, startPython, startServer, type Program } from './processes.js';
import { Scores } from './scores.js';

const numSteps = 40; // of demo.yaml
const numEvaluated = 50; // of each kind
const after = { lake: 0.5, sums: 0.5 };
const leastGain = 0.4;
const mostSeconds = 240;

export type DemoResult = {
  readonly success_before: Readonly<Record<string, number>>;
  readonly success_after: Readonly<Record<string, number>>;
  readonly events: readonly { readonly what: string; readonly seconds: number }[];
  readonly acknowledged: number;
  readonly trained: number;
  readonly dropped_by_reason: Readonly<Record<string, number>>;
  readonly lost: number;
  readonly doubled: number;
  readonly seconds: number;
};

/** Lists what this run of the demo failed to show, one line each. */
export function complaintsAbout(result: DemoResult): readonly string[] {
  const { success_before: before, success_after: later, lost, doubled, seconds } = result;
  const gains = Object.entries(before).map(([share, success]) => ({ share, gain: (later[share] ?? 0) - success }));
  return [
    ...(lost + doubled > 0 ? [`${lost} episodes were lost, ${doubled} trained twice`] : []),
    ...gains
      .filter(({ gain }) => gain < leastGain)
      .map(({ share, gain }) => `${share} gained ${gain.toFixed(2)} of success, not ${leastGain}`),
    ...(seconds > mostSeconds ? [`it took ${Math.round(seconds)} s, not ${mostSeconds}`] : []),
  ];
}

/** Plays the demo and reports it line by line. */
export async function runDemo(write: (line: string) => void): Promise<DemoResult> {
  const startedMs = performance.now();
  const secondsNow = (): number => (performance.now() - startedMs) / 1000;
  const say = (line: string): void => write(`${secondsNow().toFixed(1).padStart(6)} s  ${line}`);
  const dir = await mkdtemp(path.join(tmpdir(), 'swarm-demo-'));
  const stop = new AbortController();
  const programs = new Set<Program>();
  try {
    const told = await play({ dir, say, stop, programs });
    const ledger = await readLedger(told.runDir, told.receipts);
    say(describeLedger(ledger));
    const { runDir: _dir, receipts: _receipts, ...story } = told;
    return { ...story, ...ledger, seconds: round(secondsNow()) };
  } finally {
    stop.abort();
    for (const program of programs) await program.kill('SIGKILL');
    await rm(dir, { recursive: true, force: true });
  }
}

type Stage = {
  readonly dir: string;
  readonly say: (line: string) => void;
  readonly stop: AbortController;
  /** The processes that run now. */
  readonly programs: Set<Program>;
};

type Told = Pick<DemoResult, 'success_before' | 'success_after' | 'events'> & {
  readonly runDir: string;
  readonly receipts: ReadonlySet<string>;
};

async function play({ dir, say, stop, programs }: Stage): Promise<Told> {
  const port = await freePort();
  const events: { what: string; seconds: number }[] = [];
  const scores = new Scores();
  const keep = <One extends Program>(program: One): One => {
    programs.add(program);
    return program;
  };
  const end = async (program: Program, signal: NodeJS.Signals): Promise<void> => {
    await program.kill(signal);
    programs.delete(program);
  };

  let server = keep(await startServer(port, dir));
  const { url, run_dir: runDir } = server.listening;
  const key = server.listening.key ?? '';
  const operator = new Operator(url, key);
  say(`A server with the nano model listens at ${url}. Its shares: lake 0.6, sums 0.4.`);

  const sums = await readSums();
  const lake = new SwarmClient({ url, key, share: 'lake', client: 'typescript', revision: 'lake-1' });
  const teller = new SwarmClient({ url, key, share: 'sums', client: 'teller' });
  await lake.addTasks(drawTasks('evaluation', { seed: 1, count: numEvaluated }), { split: 'evaluation' });
  await teller.addTasks(sums.evaluation, { split: 'evaluation' });
  await teller.addTasks(sums.training);

  const walking = lake.run(FrozenLakeWorkflow, {
    tasks: drawTasks('training', { seed: 1, count: 1024 }),
    parallel: 16,
    signal: stop.signal,
    onEvent: (event) => {
      if (event.type !== 'episode_ended') return;
      scores.note('lake', 'typescript', event.episodeId, event.end.reward ?? 0);
    },
  });
  const client = { url, key };
  const openPython = (): Program =>
    keep(startPython({ ...client, onEnd: (id, reward) => scores.note('sums', 'python', id, reward) }));
  let python = openPython();
  const bash = keep(startBash({ ...client, onEnd: (id, reward) => scores.note('sums', 'bash', id, reward) }));
  say('Three programs work for it: TypeScript walks on frozen lakes; Python and bash (curl) do sums.');

  await operator.until(({ version }) => version >= 1);
  const before = await operator.evaluation(0);
  say(`Before training, on held-out tasks: ${describeScores(before)}`);
  const telling = tellProgress(operator, scores, say, stop.signal);

  await operator.until(({ version }) => version >= Math.floor(numSteps / 3));
  say('A third is done. The Python program is killed (SIGKILL), and started again.');
  await end(python, 'SIGKILL');
  const pythonBack = scores.next('python');
  let sinceMs = performance.now();
  python = openPython();
  await pythonBack;
  tell(
    'python_killed',
    sinceMs,
    'The Python program reports rewards again; what it was running was given back at once.',
  );

  const { version } = await operator.until(({ version: now }) => now >= Math.floor(numSteps / 2));
  say(`Half is done, at step ${version}. The server is killed (SIGKILL), and the same command starts it again.`);
  sinceMs = performance.now();
  await end(server, 'SIGKILL');
  const again = keep(await startServer(port, dir));
  server = again;
  await scores.next();
  tell(
    'server_killed',
    sinceMs,
    'The server acknowledges ends again; it made the steps since its checkpoint again from recorded tokens.',
  );

  await operator.until(({ version: now }) => now >= Math.floor((2 * numSteps) / 3));
  sinceMs = performance.now();
  const { config_revision: revision } = await operator.server();
  const changed = await operator.ask<ConfigAnswer>(
    'PATCH',
    '/run/config',
    { request_id: 'slower', changes: { 'trainer_common.optim.lr': 5e-4 } },
    { 'if-match': String(revision) },
  );
  const shared = await operator.ask<ConfigAnswer>('PUT', '/shares', after);
  say(
    `Two thirds are done. The shares become ${describeScores(after)} from step ${shared.from_step} on, the learning rate half of what it was from step ${changed.from_step} on.`,
  );
  await operator.until(({ version: now }) => now >= shared.from_step);
  tell('shares_and_learning_rate_changed', sinceMs, 'The first step with the new shares is made.');

  await operator.until(isEvaluated);
  const success = await operator.evaluation(numSteps);
  say(`After ${numSteps} steps, on held-out tasks: ${describeScores(success)}`);
  stop.abort();
  await Promise.all([walking, telling]);
  await Promise.all([end(python, 'SIGTERM'), end(bash, 'SIGTERM')]);
  await end(server, 'SIGTERM');
  return { success_before: before, success_after: success, events, runDir, receipts: scores.receipts };

  function tell(what: string, since: number, line: string): void {
    const seconds = round((performance.now() - since) / 1000);
    events.push({ what, seconds });
    say(`${line} It cost ${seconds} s.`);
  }
}

const isEvaluated = ({ version, account }: ServerAnswer): boolean =>
  version >= numSteps && (account['evaluated'] ?? 0) >= 4 * numEvaluated;

async function tellProgress(
  operator: Operator,
  scores: Scores,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let step = 5; step < numSteps && !signal.aborted; step += 5) {
    await operator.until(({ version }) => version >= step || signal.aborted);
    if (!signal.aborted)
      say(`Step ${step} of ${numSteps}. Success of late in training: ${describeScores(scores.take())}`);
  }
}

type Sums = { readonly training: readonly TaskInput[]; readonly evaluation: readonly TaskInput[] };

/** Reads the word problems of tutorial 2. */
async function readSums(): Promise<Sums> {
  const dir = path.resolve(import.meta.dirname, '../../../tutorial/math-agent/data');
  const read = async (name: string): Promise<readonly TaskInput[]> => {
    const lines = (await readFile(path.join(dir, name), 'utf8')).trim().split('\n');
    return lines.map((line) => {
      const { task_id, main_query, metadata } = JSON.parse(line) as SumRow;
      return { taskId: task_id, mainQuery: main_query, metadata };
    });
  };
  return {
    training: await read('training.jsonl'),
    evaluation: (await read('validation.jsonl')).slice(0, numEvaluated),
  };
}

type SumRow = {
  readonly task_id: string;
  readonly main_query: string;
  readonly metadata: Readonly<Record<string, unknown>>;
};

type LedgerCounts = Pick<DemoResult, 'acknowledged' | 'trained' | 'dropped_by_reason' | 'lost' | 'doubled'>;

/** Compares the ledger with the receipts that the programs hold. Throws if it is not sound. */
async function readLedger(runDir: string, receipts: ReadonlySet<string>): Promise<LedgerCounts> {
  const store = await LmdbStore.open(path.join(runDir, 'ledger'), { isReadOnly: true });
  try {
    const verdict = verifyStore(store);
    if (!verdict.isSound) throw new Error(verdict.problem);
    const { state } = foldStore(store);
    const isKept = (id: string): boolean =>
      state.episodes.get(id)?.end !== undefined || state.finished.episode(id)?.bodyHash !== undefined;
    const held = [...state.manifests.values()].flatMap(({ groups }) => groups.flatMap(({ episodes }) => episodes));
    const times = new Map<string, number>();
    for (const { episodeId } of held) times.set(episodeId, (times.get(episodeId) ?? 0) + 1);
    const { acknowledged, trained, droppedByReason } = accountOf(state);
    return {
      acknowledged,
      trained,
      dropped_by_reason: { ...droppedByReason },
      lost: [...receipts].filter((id) => !isKept(id)).length,
      doubled: [...times.values()].filter((count) => count > 1).length,
    };
  } finally {
    await store.close();
  }
}

function describeLedger({ acknowledged, trained, dropped_by_reason, lost, doubled }: LedgerCounts): string {
  const dropped = Object.entries(dropped_by_reason).map(([reason, count]) => `${count} ${reason}`);
  return `The ledger is sound: ${acknowledged} episodes acknowledged, ${trained} trained, dropped: ${dropped.join(', ') || 'none'}; ${lost} lost, ${doubled} trained twice.`;
}

const describeScores = (scores: Readonly<Record<string, number>>): string =>
  Object.entries(scores)
    .map(([share, value]) => `${share} ${value.toFixed(2)}`)
    .join(', ');

const round = (value: number): number => Math.round(value * 10) / 10;
