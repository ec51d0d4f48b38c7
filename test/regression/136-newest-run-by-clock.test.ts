import { mkdtempSync, readdirSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRunFolder, findLatestRun } from '@agentjet/run-folder';
import { expect, it } from 'vitest';

/**
 * --resume took a run that was named for 2031, because the clock had been wrong, although another run was written after
 * it.
 */

async function createRun(experimentDir: string, name: string, writtenAt: string): Promise<string> {
  const clock = (): Date => new Date(name);
  const run = await createRunFolder({ experimentDir, experimentName: 'e', configYaml: 'ajet: {}\n', clock });
  await run.close();
  for (const file of readdirSync(run.dir)) utimesSync(path.join(run.dir, file), new Date(), new Date(writtenAt));
  return run.dir;
}

it('the run that was written last is the newest, also if its name is not the last', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'clock-'));
  await createRun(dir, '2031-05-01T10:00:00', '2026-08-01T10:00:00');
  const newest = await createRun(dir, '2026-08-09T10:00:00', '2026-08-09T10:00:00');
  await createRun(dir, '2030-05-01T10:00:00', '2026-08-02T10:00:00');
  expect(await findLatestRun(dir, 'e')).toBe(newest);
});
