import { setTimeout as sleep } from 'node:timers/promises';
import { askEngine, type BoxEngine } from './engine.js';

const engineSeconds = 120;
const tries = 4;
const pauseMs = 500;

/** Whether a box cannot be removed because others share its network. */
export const isShared = (error: unknown): boolean => /has dependent containers/i.test(String(error));

/**
 * Removes a box and its anonymous volumes. Tries several times, because an engine may still be starting the box. With
 * `waitsForOthers: false` it rejects at once if other boxes share the network of this one.
 */
export async function removeBox(engine: BoxEngine, name: string, { waitsForOthers = true } = {}): Promise<void> {
  // podman would wait ten seconds for the first process, which takes no signals.
  const atOnce = engine.name === 'podman' ? ['--time', '0'] : [];
  await removeUntilGone(engine, ['rm', '--force', ...atOnce, '--volumes', name], waitsForOthers);
}

/** Removes a volume that boxes shared. */
export const removeVolume = (engine: BoxEngine, name: string): Promise<void> =>
  removeUntilGone(engine, ['volume', 'rm', '--force', name], true);

async function removeUntilGone(engine: BoxEngine, args: readonly string[], waitsForOthers: boolean): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await askEngine(engine, args, { seconds: engineSeconds });
      return;
    } catch (error) {
      if (/no such (container|volume)|no (container|volume) with name/i.test(String(error))) return;
      if (attempt === tries || (!waitsForOthers && isShared(error))) throw error;
      await sleep(pauseMs * attempt);
    }
  }
}
