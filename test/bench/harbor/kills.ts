import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRandom } from '@agentjet/core';
import { boxEngines, findBoxEngine, listBoxes, listVolumes, openBox, removeLeftBoxes } from '@agentjet/sandbox/boxes';

/** Kills processes that play episodes, and counts the boxes and volumes that remain after the next start. */

const startMs = 300_000;
const spanMs = 12_000;

export async function killPlayers(
  kills: number,
  seed: number,
): Promise<{ readonly left: number; readonly touched: number; readonly running: number }> {
  const engine = findBoxEngine(boxEngines);
  if (typeof engine === 'string') throw new Error(engine);
  const random = createRandom(seed);
  const others = await openBox(engine, { image: 'localhost/ajet-base:1', networks: ['none'], lifeSeconds: 36_000 });
  let left = 0;
  let touched = 0;
  let running = 0;
  /** Boxes of a player. Other processes of this machine may have some, too. */
  const ofPlayer = async (pid: number | undefined): Promise<readonly string[]> =>
    (await listBoxes(engine)).filter(({ owner }) => owner?.pid === pid).map(({ name }) => name);
  const volumesOfPlayer = async (pid: number | undefined): Promise<number> =>
    (await listVolumes(engine)).filter(({ owner }) => owner?.pid === pid).length;
  try {
    for (let kill = 0; kill < kills; kill++) {
      const child = spawn(process.execPath, ['--import', 'tsx', path.join(import.meta.dirname, 'player.ts')], {
        stdio: 'inherit',
      });
      await untilSome(() => ofPlayer(child.pid)); // a kill before the first box would show nothing
      await sleep(random.int(spanMs));
      running += (await ofPlayer(child.pid)).length;
      child.kill('SIGKILL');
      await once(child, 'exit');
      await removeLeftBoxes(engine);
      await sleep(2000); // a client of the killed process may still be starting a box
      await removeLeftBoxes(engine);
      left += (await ofPlayer(child.pid)).length + (await volumesOfPlayer(child.pid));
      if (!(await listBoxes(engine)).some(({ name }) => name === others.name)) touched++;
    }
  } finally {
    await others.remove();
  }
  return { left, touched, running };
}

async function untilSome(list: () => Promise<readonly string[]>): Promise<void> {
  const until = performance.now() + startMs;
  while ((await list()).length === 0) {
    if (performance.now() > until) throw new Error('The player opened no box in five minutes.');
    await sleep(200);
  }
}
