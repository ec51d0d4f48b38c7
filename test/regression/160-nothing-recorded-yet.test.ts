import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRunFolder, openRunFolder } from '@agentjet/run-folder';
import { expect, it } from 'vitest';

/**
 * Each start of a server rewinds the run, even before the run has its first record. Such a run later reported that its
 * hashes had changed.
 */
it('says nothing of changed sums if a run was put back before its first record', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'sums-'));
  const notices: string[] = [];
  const onNotice = (message: string): void => void notices.push(message);
  try {
    const run = await createRunFolder({
      experimentDir: dir,
      experimentName: 'lake',
      configYaml: 'ajet: {}\n',
      onNotice,
    });
    await run.rewind({ step: 0, policyVersion: 0, groupsDrawn: 0 });
    await run.recordStep({ step: 1 });
    await run.close();
    const again = await openRunFolder(run.dir, { onNotice });
    await again.rewind({ step: 1, policyVersion: 1, groupsDrawn: 1 });
    await again.close();
    expect(notices).toEqual([]);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
