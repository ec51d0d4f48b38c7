import { EnvironmentOutage } from '@agentjet/core';
import { listArchive, type Box } from '@agentjet/sandbox/boxes';
import { asOutage, asRoot, harborHostOf } from './box-work.js';
import type { HarborTask } from './read-task.js';

export type EmptyPlace = {
  readonly box: Box;
  readonly engine: string;
  readonly task: HarborTask;
  readonly signal: AbortSignal;
};

/**
 * Empties folders of logs and removes `/tests` in the agent's machine, and lets the engine check it, because the agent
 * may have replaced `rm`.
 */
export async function emptyFolders(
  folders: readonly string[],
  { box, engine, task, signal }: EmptyPlace,
): Promise<void> {
  const logs = folders.filter((folder) => folder.startsWith('/logs/')).join(' ');
  await asRoot(box, `rm -rf ${folders.join(' ')} && mkdir -p ${logs} && chmod 777 ${logs}`, { host: engine, signal });
  for (const folder of folders) {
    const found = await asOutage(engine, () => box.copyOut(folder, listArchive));
    const isEmpty = folder === '/tests' ? found === null : found?.length === 1 && found[0]?.type === 'directory';
    if (!isEmpty)
      throw new EnvironmentOutage(`${folder} in the box of task ${task.name} could not be emptied.`, {
        host: harborHostOf(task),
      });
  }
}
