import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { summarizeEpisodes } from '@agentjet/inspect';
import { createRunFolder, type RunFolder } from '@agentjet/run-folder';
import { expect, it } from 'vitest';

/** The command printed a stack if the path of a run's folder was a file, or a link that leads to itself. */

async function createRun(): Promise<RunFolder> {
  const experimentDir = mkdtempSync(path.join(tmpdir(), 'folders-'));
  return createRunFolder({ experimentDir, experimentName: 'e', configYaml: 'ajet: {}\n' });
}

const replacements = [
  ['a file', (place: string) => writeFileSync(place, 'x'), /it is a file, not a folder\. Move that file away/],
  ['a circle of links', (place: string) => symlinkSync(place, place), /links lead in a circle\. Remove the link/],
] as const;

it.skipIf(process.platform === 'win32').each(replacements)(
  '%s in place of checkpoints or episodes is reported in words',
  async (_name, replace, message) => {
    const run = await createRun();
    for (const name of ['checkpoints', 'episodes']) {
      rmSync(path.join(run.dir, name), { recursive: true, force: true });
      replace(path.join(run.dir, name));
    }
    const error = { name: 'BackboneError', code: 'run_folder', message: expect.stringMatching(message) };
    await expect(run.checkpoints.latest()).rejects.toMatchObject(error);
    await expect(summarizeEpisodes(run.dir).next()).rejects.toMatchObject(error);
  },
);

it.skipIf(process.platform === 'win32')('a pipe in place of a file is not waited for', async () => {
  const run = await createRun();
  await run.recordStep({ step: 1, reward_mean: 0 });
  const checkpoint = await run.save(
    { save: (dir) => writeFile(path.join(dir, 'config.json'), '{}') },
    { step: 1, policyVersion: 1, groupsDrawn: 1 },
  );
  const putPipe = (file: string): void => {
    rmSync(file);
    execFileSync('mkfifo', [file]);
  };
  putPipe(path.join(checkpoint.dir, 'config.json'));
  await expect(run.checkpoints.latest()).rejects.toThrow(/config\.json is a pipe or a device, not a file/);
  putPipe(path.join(checkpoint.dir, 'state.json'));
  await expect(run.checkpoints.latest()).rejects.toThrow(/its state\.json is missing or has changed/);
  putPipe(path.join(run.dir, 'metrics.jsonl'));
  expect(await run.findChanges()).toEqual([expect.stringContaining('metrics.jsonl has changed')]);
  await expect(run.readMetrics()).rejects.toThrow(/metrics\.jsonl is a pipe or a device, not a file\. Remove it\./);
});
