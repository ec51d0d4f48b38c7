import { askEngine, callEngine, type BoxEngine } from './engine.js';

const engineSeconds = 120;

/** Removes a box and its anonymous volumes. Tries a second time, because an engine may still be starting the box. */
export async function removeBox(engine: BoxEngine, name: string): Promise<void> {
  // podman would wait ten seconds for the first process, which takes no signals.
  const atOnce = engine.name === 'podman' ? ['--time', '0'] : [];
  const args = ['rm', '--force', ...atOnce, '--volumes', name];
  const first = await callEngine(engine, args, { seconds: engineSeconds }).catch(() => undefined);
  const isGone = first?.status === 0 || /no such container|no container with name/i.test(first?.stderr ?? '');
  if (!isGone) await askEngine(engine, args, { seconds: engineSeconds });
}
