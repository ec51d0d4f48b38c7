import { rejectOnAbort } from '@agentjet/core';
import { prepareImage, type BoxHost } from '@agentjet/sandbox/boxes';
import { asOutage, harborHostOf } from './box-work.js';
import type { ImageSpec } from './compose/read-compose.js';
import type { HarborTask } from './read-task.js';

type ImagePlace = { readonly buildSeconds: number; readonly task: HarborTask; readonly signal: AbortSignal };

/** Builds or pulls an image of a task if necessary, and returns its name. */
export async function prepareTaskImage(
  engine: BoxHost,
  { build, image }: ImageSpec,
  { buildSeconds, task, signal }: ImagePlace,
): Promise<string> {
  const source =
    build === null
      ? ({ kind: 'named', image: image ?? '' } as const)
      : ({ kind: 'built', context: build.folder, ...build } as const);
  const work = prepareImage(engine, source, buildSeconds);
  return asOutage(harborHostOf(task), () => rejectOnAbort(work, signal), `The image of task ${task.name} is missing. `);
}
