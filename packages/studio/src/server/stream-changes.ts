import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { StudioRuns } from '../runs/studio-runs.js';
import type { ChangeEvent } from '../wire.js';
import type { StudioView } from './studio-view.js';

/** How often the server looks for changes: in the run that a page shows, and in all runs. */
const pollMs = 250;
const listMs = 2000;

type Watched = {
  readonly runs: StudioRuns;
  readonly view: StudioView;
  /** The run that the page shows. */
  readonly runId: string | undefined;
  readonly signal: AbortSignal;
};

/** Sends an event after each change of the run, or of the list of runs. The page then asks for what was added. */
export function streamChanges(context: Context, { runs, view, runId, signal }: Watched): Response {
  return streamSSE(context, async (stream) => {
    const ended = new AbortController();
    stream.onAbort(() => ended.abort());
    const either = AbortSignal.any([signal, ended.signal]);
    const send = (event: ChangeEvent): Promise<void> =>
      stream.writeSSE({ event: 'change', data: JSON.stringify(event) });
    const look = createLook(runs, runId);
    let shown = view.number;
    const endWatch = view.watch();
    // What the page reads after this event is at least as new as what later changes are compared with.
    await look();
    await stream.writeSSE({ event: 'ready', data: '{}' });
    while (!either.aborted) {
      for (const event of await look()) await send(event);
      if (view.number !== shown) {
        shown = view.number;
        await stream.writeSSE({ event: 'view', data: JSON.stringify({ address: view.address }) });
      }
      await sleep(pollMs, undefined, { signal: either }).catch(() => undefined); // the page was closed
    }
    endWatch();
  });
}

/** Returns a function that says what has changed since its last call. */
function createLook(runs: StudioRuns, runId: string | undefined): () => Promise<readonly ChangeEvent[]> {
  let calls = 0;
  let version: string | undefined;
  let wasThere = false;
  const seen = new Map<string, string>();
  return async () => {
    const changes: ChangeEvent[] = [];
    const run = runId === undefined ? undefined : await runs.find(runId);
    if (runId !== undefined && run === undefined && wasThere)
      changes.push({ run: runId, what: ['metrics', 'episodes', 'state'] });
    wasThere = run !== undefined;
    if (run !== undefined) {
      const { metrics, episodes } = await run.cursors();
      const what = (
        [
          ['metrics', metrics],
          ['episodes', episodes],
        ] as const
      ).flatMap(([name, cursor]) => {
        const before = seen.get(name);
        seen.set(name, cursor);
        return before !== undefined && before !== cursor ? [name] : [];
      });
      if (what.length > 0) changes.push({ run: run.found.id, what });
    }
    if (calls++ % (listMs / pollMs) === 0) {
      const before = version;
      ({ version } = await runs.list());
      if (before !== undefined && before !== version) changes.push({ run: runId ?? '', what: ['state'] });
    }
    return changes;
  };
}
