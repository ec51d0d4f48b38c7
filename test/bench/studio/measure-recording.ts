import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../../..');
const ajet = path.join(root, 'packages/cli/dist/main.js');

const sayMain = `--import=${new URL('./say-main-cpu.mjs', import.meta.url).href}`;

export type RecordingCost = {
  /** CPU seconds of recording for each 100 CPU seconds of the steps. */
  readonly percent: number;
  readonly recording_seconds: number;
  readonly step_seconds: number;
  readonly main_thread_seconds: number;
  readonly steps: number;
};

/**
 * Trains the frozen lake under Node's profiler. The cost of recording is a share of the main thread's CPU time: the
 * share of samples in functions that write the records of the run folder, and in the functions that they call. Samples
 * alone are not enough, because they follow the clock, so their time grows with the load of the machine. The CPU time
 * of the steps is that of the whole process with all of its threads, from system.jsonl. The first step is counted as
 * the mean of the others, because it also contains the start of the process. Linux only.
 */
export function measureRecording(dir: string, steps: number): RecordingCost {
  const args = ['--conf', path.join(root, 'tutorial/frozen-lake/frozen_lake.yaml')];
  const settings = [`trainer_common.total_training_steps=${steps}`, `experiment_dir=${dir}/profiled`];
  const profiles = path.join(dir, 'profiles');
  const profiler = ['--cpu-prof', `--cpu-prof-dir=${profiles}`, '--cpu-prof-interval=500', sayMain];
  const { status, stderr } = spawnSync(process.execPath, [...profiler, ajet, ...args, ...settings], { cwd: root });
  if (status !== 0) throw new Error(`The run failed: ${stderr.toString()}`);
  const main = Number(/main thread ([\d.]+)/.exec(stderr.toString())?.[1]);
  const [share = NaN] = readdirSync(profiles)
    .map((name) => JSON.parse(readFileSync(path.join(profiles, name), 'utf8')) as Profile)
    .filter(({ nodes }) => nodes.some(({ callFrame }) => writing.test(`${callFrame.url}:${callFrame.functionName}`)))
    .map(shareOfRecording);
  const rows = readSystem(path.join(dir, 'profiled', 'frozen_lake'));
  const [first, last] = [rows[0]?.cpu_seconds ?? NaN, rows.at(-1)?.cpu_seconds ?? NaN];
  const stepSeconds = ((last - first) * steps) / (steps - 1);
  const recordingSeconds = share * main;
  const round = (value: number): number => Math.round(value * 1000) / 1000;
  return {
    percent: round((recordingSeconds / stepSeconds) * 100),
    recording_seconds: round(recordingSeconds),
    step_seconds: round(stepSeconds),
    main_thread_seconds: main,
    steps,
  };
}

function readSystem(experiment: string): readonly { readonly cpu_seconds: number }[] {
  const [run = ''] = readdirSync(experiment);
  const text = readFileSync(path.join(experiment, run, 'system.jsonl'), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly cpu_seconds: number });
}

type Profile = {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly url: string; readonly functionName: string };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
};

/** The code that writes the records for people. It does not include the ledger, from which a run resumes. */
const recording = /\/packages\/(run-folder\/dist\/|records\/dist\/(episode-line|group-report\.js:toGroupLines))/;
const writing = /\/packages\/run-folder\/dist\/run-folder\.js:recordStep/;
/**
 * Other callers of this code: the findings at the end of a run, and the conversion of episodes for the trainer. The
 * findings read the index and the heads of episodes; a profile does not name the callers of asynchronous functions, so
 * these readers are named themselves.
 */
const others =
  /\/packages\/(diagnose\/dist\/|records\/dist\/group-report\.js:toGroupReport|run-folder\/dist\/(episode-index\/(episode-index|index-file|parse-head)\.js|run-folder\.js:openIndex))/;

/** Returns the share of recording functions among the samples in which the thread was not idle. */
function shareOfRecording({ nodes, samples, timeDeltas }: Profile): number {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const nameOf = (id: number): string => {
    const { url = '', functionName = '' } = byId.get(id)?.callFrame ?? {};
    return `${url}:${functionName}`;
  };
  const inside = new Set<number>();
  const idle = new Set(nodes.filter(({ callFrame }) => callFrame.functionName === '(idle)').map(({ id }) => id));
  const open = [{ id: nodes[0]?.id ?? 0, isInside: false }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const name = nameOf(next.id);
    if (others.test(name)) continue;
    const isInside = next.isInside || recording.test(name);
    if (isInside) inside.add(next.id);
    open.push(...(byId.get(next.id)?.children ?? []).map((id) => ({ id, isInside })));
  }
  const secondsOf = (wanted: (id: number) => boolean): number =>
    samples.reduce((sum, id, at) => sum + (wanted(id) ? (timeDeltas[at] ?? 0) : 0), 0);
  return secondsOf((id) => inside.has(id)) / secondsOf((id) => !idle.has(id));
}
