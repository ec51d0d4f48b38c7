import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRandom, EnvironmentOutage, type Task } from '@agentjet/core';
import { boxEngines, findBoxEngine, type BoxEngine } from '@agentjet/sandbox/boxes';
import { inParallel } from '../in-parallel.js';
import { doNothing, openBench, playTask, solve } from './play.js';

/**
 * An engine whose calls fail at random: they are refused, their client is killed before, during or after the work, the
 * box is stopped or removed first, any box of the episode is killed a little later, output is cut or lost, and calls are
 * slow.
 */

const kinds = [
  'refuse',
  'kill-before',
  'kill-during',
  'kill-after',
  'stop-box',
  'remove-box',
  'kill-later',
  'cut',
  'silent',
  'slow',
] as const;

const script = (program: string, folder: string): string => `#!/bin/sh
n=$( (flock 9; n=$(($(cat ${folder}/calls) + 1)); echo $n > ${folder}/calls; echo $n) 9> ${folder}/lock)
kind=$(sed -n "s/^$n //p" ${folder}/plan)
real=${program}
box=$(echo "$*" | grep -o 'ajet-box-[0-9a-f-]*' | head -n 1)
kill_later() {
  sleep 0.3
  episode=$("$real" container inspect --format '{{index .Config.Labels "org.agentjet.episode"}}' "$box")
  victim=$("$real" ps --filter "label=org.agentjet.episode=$episode" --format '{{.Names}}' | shuf -n 1)
  [ -z "$episode" ] || [ -z "$victim" ] || "$real" kill "$victim"
}
[ -z "$kind" ] || echo "$kind $1: $*" | head -n 1 >> ${folder}/injected
case $kind in
refuse) echo "Error: injected" >&2; exit 125;;
kill-before) kill -9 $$;;
kill-during) "$real" "$@" & sleep 0.1; kill -9 $! $$;;
kill-after) "$real" "$@" > /dev/null 2>&1; kill -9 $$;;
stop-box) [ -z "$box" ] || "$real" kill "$box" > /dev/null 2>&1;;
remove-box) [ -z "$box" ] || "$real" rm -f -t 0 "$box" > /dev/null 2>&1;;
kill-later) [ -z "$box" ] || kill_later > /dev/null 2>&1 < /dev/null &;;
cut) "$real" "$@" | head -c 700; echo "Error: injected cut" >&2; exit 125;;
silent) exec "$real" "$@" > /dev/null;;
slow) sleep 1;;
esac
exec "$real" "$@"
`;

export type FaultResult = {
  readonly injected: number;
  readonly wrongRewards: number;
  readonly finished: number;
  readonly episodes: number;
  /** The calls of the engine in all attempts. */
  readonly calls: number;
  readonly kinds: Readonly<Record<string, number>>;
};

/** An episode is repeated this often after outages. */
const attempts = 6;
/** Episodes of our tasks make more calls of the engine on average, so all faults are injected. */
const callsOfEpisode = 26;

export async function injectFaults(
  tasks: readonly Task[],
  { episodes, faults, parallel, seed }: { episodes: number; faults: number; parallel: number; seed: number },
): Promise<FaultResult> {
  const found = findBoxEngine(boxEngines);
  if (typeof found === 'string') throw new Error(found);
  const folder = mkdtempSync(path.join(tmpdir(), 'faulty-engine-'));
  const random = createRandom(seed);
  const calls = new Set<number>();
  while (calls.size < faults) calls.add(1 + random.int(episodes * callsOfEpisode));
  writeFileSync(
    path.join(folder, 'plan'),
    [...calls].map((call) => `${call} ${kinds[random.int(kinds.length)]}\n`).join(''),
  );
  writeFileSync(path.join(folder, 'calls'), '0\n');
  writeFileSync(path.join(folder, 'injected'), '');
  const program = path.join(folder, found.name);
  writeFileSync(program, script(found.program, folder));
  chmodSync(program, 0o755);
  const engine: BoxEngine = { ...found, program };
  try {
    const readInjected = (): readonly string[] =>
      readFileSync(path.join(folder, 'injected'), 'utf8')
        .split('\n')
        .filter((line) => line !== '');
    const ends = await playAll(tasks, { engine, episodes, parallel, readInjected });
    const injected = readInjected();
    const byKind: Record<string, number> = {};
    for (const line of injected) {
      const [kind = line] = line.split(':');
      byKind[kind] = (byKind[kind] ?? 0) + 1;
    }
    return {
      injected: injected.length,
      wrongRewards: ends.filter((end) => end === 'wrong').length,
      finished: ends.filter((end) => end === 'right').length,
      episodes,
      calls: Number(readFileSync(path.join(folder, 'calls'), 'utf8')),
      kinds: byKind,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type End = 'right' | 'wrong' | 'lost';

async function playAll(
  tasks: readonly Task[],
  {
    engine,
    episodes,
    parallel,
    readInjected,
  }: { engine: BoxEngine; episodes: number; parallel: number; readInjected: () => readonly string[] },
): Promise<readonly End[]> {
  const environment = openBench({ engine });
  return inParallel([...Array(episodes).keys()], parallel, async (episode) => {
    const task = tasks[Math.floor(episode / 2) % tasks.length];
    if (task === undefined) throw new Error('There are no tasks.');
    const before = readInjected().length;
    const end = await playUntilScored(task, { environment, isSolved: episode % 2 === 0 });
    if (end === 'wrong') console.error(`faults meanwhile:\n${readInjected().slice(before).join('\n')}`);
    return end;
  });
}

async function playUntilScored(
  task: Task,
  { environment, isSolved }: { environment: ReturnType<typeof openBench>; isSolved: boolean },
): Promise<End> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    try {
      const { reward } = await playTask(environment, task, isSolved ? solve : doNothing);
      if (reward === (isSolved ? 1 : 0)) return 'right';
      console.error(`wrong: ${task.taskId} ${isSolved ? 'solved' : 'not solved'} got ${reward}`);
      return 'wrong';
    } catch (error) {
      if (!(error instanceof EnvironmentOutage)) console.error(`not an outage: ${String(error).slice(0, 300)}`);
    }
  }
  return 'lost';
}
