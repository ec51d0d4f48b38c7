import { setTimeout as sleep } from 'node:timers/promises';
import { askEngine, type BoxEngine } from './engine.js';

const engineSeconds = 120;
const tries = 4;
const pauseMs = 500;

/** Removes a box and its anonymous volumes. Tries several times, because an engine may still be starting the box. */
export async function removeBox(engine: BoxEngine, name: string): Promise<void> {
  // podman would wait ten seconds for the first process, which takes no signals.
  const atOnce = engine.name === 'podman' ? ['--time', '0'] : [];
  await removeUntilGone(engine, ['rm', '--force', ...atOnce, '--volumes', name]);
}

/** Removes a volume that boxes shared. */
export const removeVolume = (engine: BoxEngine, name: string): Promise<void> =>
  removeUntilGone(engine, ['volume', 'rm', '--force', name]);

async function removeUntilGone(engine: BoxEngine, args: readonly string[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await askEngine(engine, args, { seconds: engineSeconds });
      return;
    } catch (error) {
      if (/no such (container|volume)|no (container|volume) with name/i.test(String(error))) return;
      if (attempt === tries) throw error;
      await sleep(pauseMs * attempt);
    }
  }
}
