import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRunFolder, openRunFolder, type RunFolder } from '@agentjet/run-folder';
import { expect, it } from 'vitest';

/** A run whose records were changed after a checkpoint was resumed and shown without a warning. */

const state = { step: 2, policyVersion: 2, groupsDrawn: 4 };
const backbone = {
  save: async (dir: string) => {
    await mkdir(dir, { recursive: true });
    await writeFile(path.join(dir, 'config.json'), '{}');
  },
};

async function createRun(): Promise<{ readonly run: RunFolder; readonly reopen: () => Promise<readonly string[]> }> {
  const experimentDir = mkdtempSync(path.join(tmpdir(), 'records-'));
  const run = await createRunFolder({ experimentDir, experimentName: 'e', configYaml: 'ajet: {}\n' });
  for (const step of [1, 2]) {
    const samples = [{ agent_name: 'a', target_tag: 'a', ids: [step], loss_mask: [1], policy_versions: [0] }];
    await run.recordStep({ step, reward_mean: 0.25 }, [{ episode_id: `e${step}`, samples } as never]);
  }
  await run.save(backbone, state);
  await run.recordEvaluation({ step: 2, reward_mean: 0.5 }, [{ episode_id: 'eval-2-a', samples: [] }]);
  const reopen = async (): Promise<readonly string[]> => {
    const notices: string[] = [];
    const again = await openRunFolder(run.dir, { onNotice: (message) => notices.push(message) });
    await again.rewind(state);
    return notices;
  };
  return { run, reopen };
}

it('records that only grew have not changed', async () => {
  const { run, reopen } = await createRun();
  expect(await run.findChanges()).toEqual([]);
  expect(await reopen()).toEqual([]);
});

it.each([
  ['metrics.jsonl', (file: string) => writeFileSync(file, readFileSync(file, 'utf8').replace('0.25', '0.75'))],
  ['episodes/step-000001.jsonl', (file: string) => truncateSync(file, 0)],
  [
    'episodes/step-000002.jsonl',
    (file: string) => writeFileSync(file, readFileSync(file, 'utf8').replace('[2]', '[3]')),
  ],
  // The evaluation at the end of a run is recorded after its last checkpoint.
  ['evaluations.jsonl', (file: string) => truncateSync(file, 5)],
  ['evaluations.jsonl', (file: string) => rmSync(file)],
])('a change of %s is reported when the run is resumed, and when it is shown', async (name, change) => {
  const { run, reopen } = await createRun();
  change(path.join(run.dir, name));
  const changed = [expect.stringContaining(`${path.join(run.dir, name)} has changed since it was written`)];
  expect(await run.findChanges()).toEqual(changed);
  expect(await reopen()).toEqual(changed);
});

it('what a killed process left of a record has not changed', async () => {
  const { run, reopen } = await createRun();
  for (const name of ['metrics.jsonl', 'evaluations.jsonl', 'episodes/step-000002.jsonl', 'sums.jsonl'])
    appendFileSync(path.join(run.dir, name), '{"step":');
  expect(await run.findChanges()).toEqual([]);
  const notices = await reopen();
  expect(notices.filter((notice) => notice.includes('has changed'))).toEqual([]);
});

it('records of steps that are made again are not missed', async () => {
  const { run, reopen } = await createRun();
  await run.recordStep({ step: 3, reward_mean: 1 });
  expect(await reopen()).toEqual([]);
  expect(await run.findChanges()).toEqual([]);
  expect(await reopen()).toEqual([]);
});

it('changed sums are reported', async () => {
  const { run } = await createRun();
  writeFileSync(path.join(run.dir, 'sums.jsonl'), 'what\n');
  expect(await run.findChanges()).toEqual([expect.stringContaining('sums.jsonl has changed since it was written')]);
});

it('a record that somebody else appended is reported, and removed when the run is resumed', async () => {
  const { run, reopen } = await createRun();
  await run.close();
  const file = path.join(run.dir, 'metrics.jsonl');
  const written = readFileSync(file, 'utf8');
  appendFileSync(file, '{"step":2,"reward_mean":1}\n');
  expect(await run.findChanges()).toEqual([expect.stringContaining('metrics.jsonl has changed')]);
  expect(await reopen()).toEqual([`27 bytes after the last record of ${file} are removed.`]);
  expect(readFileSync(file, 'utf8')).toBe(written);
});

it('a line that no run has written is not taken for an episode', async () => {
  const { run } = await createRun();
  appendFileSync(path.join(run.dir, 'episodes/step-000002.jsonl'), '{"episode_id":"e8"}\n');
  await expect(run.episodes.readStep(2)).rejects.toThrow(
    /step-000002\.jsonl:3 is not an episode: it has no list of samples/,
  );
  await expect(run.episodes.find('e8')).resolves.toBeUndefined();
});
