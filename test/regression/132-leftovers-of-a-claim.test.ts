import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRunFolder, openRunFolder } from '@agentjet/run-folder';
import { expect, it } from 'vitest';

it('what a killed process left of its claim and its curve is removed when the run is resumed; a live process keeps its own', async () => {
  const experimentDir = mkdtempSync(path.join(tmpdir(), 'leftovers-'));
  const run = await createRunFolder({ experimentDir, experimentName: 'e', configYaml: 'ajet: {}\n' });
  const gone = 2 ** 22 + 1; // larger than any process id of Linux
  const owner = 'd243d643-bf05-4473-9279-fa380ca5161b';
  const live = `.writer.json.writing-${process.ppid}-${owner}`;
  for (const name of [`.writer.json.writing-${gone}-${owner}`, `.reward.svg.writing-${gone}`, live])
    writeFileSync(path.join(run.dir, name), '');
  await (await openRunFolder(run.dir)).rewind({ step: 0, policyVersion: 0, groupsDrawn: 0 });
  expect(readdirSync(run.dir).filter((name) => name.startsWith('.'))).toEqual([live]);
});
