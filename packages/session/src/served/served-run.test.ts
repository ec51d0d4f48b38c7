import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AvailableMemory } from '../needs/available-memory.js';
import { createConfig, testComposition, type ConfigInput } from '../testing/test-composition.js';
import { openServedRun } from './served-run.js';

let experimentDir = '';
const notices: string[] = [];
beforeEach(() => {
  experimentDir = mkdtempSync(path.join(tmpdir(), 'ajet-served-'));
  notices.length = 0;
});
afterEach(() => rmSync(experimentDir, { recursive: true, force: true }));

const policies = { planner: { trainableTargets: ['planner'] }, worker: { trainableTargets: ['worker'] } };

async function open(own: ConfigInput = {}, memory?: AvailableMemory): Promise<void> {
  const config = createConfig({ experimentDir, model: { path: 'nano' }, ...own });
  const onNotice = (message: string): void => void notices.push(message);
  const run = await openServedRun({ config, composition: testComposition, isNew: true, onNotice, memory });
  await run.close();
}

describe('the first lines of a served run', () => {
  const told = String.raw`model nano \(468\.6k parameters, .* of .*, a step up to about .*\)`;

  it('say parameters, memory and time of its model', async () => {
    await open();
    expect(notices).toContainEqual(expect.stringMatching(new RegExp(`^${told}$`)));
  });

  it('say them of each policy', async () => {
    await open({ swarm: { policies } });
    for (const name of ['planner', 'worker'])
      expect(notices).toContainEqual(expect.stringMatching(new RegExp(`^${name}: ${told}$`)));
  });
});

it('is refused before anything is written if its models do not fit together', async () => {
  const memory = { bytes: 2.5 * 2 ** 30, limitedBy: 'container' as const };
  await open({}, memory);
  rmSync(experimentDir, { recursive: true });
  mkdirSync(experimentDir);
  await expect(open({ swarm: { policies } }, memory)).rejects.toMatchObject({
    code: 'not_enough_memory',
    message: expect.stringMatching(
      /available in this container: planner \(nano\) .* bytes\), worker \(nano\) /,
    ) as unknown,
  });
  expect(readdirSync(experimentDir)).toEqual([]);
});
