import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { StudioRuns } from '../runs/studio-runs.js';
import { writeSyntheticRun } from '../testing/write-synthetic-run.js';
import { checkLinksOf } from './check-links-of.js';

let dir: string;
let run: string;
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'check-links-'));
  await writeSyntheticRun({ experimentDir: dir, name: 'cited', seed: 1, steps: 2 });
  run = (await new StudioRuns(dir).list()).runs[0]?.id ?? '';
});
afterAll(() => rm(dir, { recursive: true, force: true }));

it('a report may cite runs, steps, groups, tasks, episodes, tokens and quotes', async () => {
  const episode = `#/run/${run}/episode/e1-t4-r0`;
  const report = [
    `Read [the run](#/run/${run}), [step 1](#/run/${run}/step/1) and [a task](#/run/${run}/task/v1).`,
    `A [group](http://127.0.0.1:8710/#/run/${run}/group/e1-t4?step=1), an <${episode}?show=tokens&token=3>`,
    `and [what was asked](${episode}?quote=What%20is%2028%20plus%207).`,
  ].join('\n');
  const { links, broken } = await checkLinksOf(report, dir);
  expect([links.length, broken]).toEqual([6, []]);
});

it('names the line of each link that leads nowhere, and what is missing', async () => {
  const episode = `#/run/${run}/episode/e1-t4-r0`;
  const report = [
    'no link',
    '[a](#/run/another/curves)',
    `[b](#/run/${run}/episode/none)`,
    `[c](${episode}?token=99999)`,
    `[d](${episode}?quote=never+said)`,
    `[e](#/run/${run}/step/77) [f](#/run/${run}/elsewhere) [g](#/compare?runs=${run},x)`,
  ].join('\n');
  const { broken } = await checkLinksOf(report, dir);
  expect(broken.map(({ line, problem = '' }) => [line, problem.replace(/ (below|cited).*?(?= has|$)/, '')])).toEqual([
    [2, 'there is no run "another"'],
    [3, expect.stringContaining('has no episode "none"')],
    [4, expect.stringMatching(/has \d+ tokens, and no token "99999"/)],
    [5, 'nobody says "never said" in the episode'],
    [6, expect.stringContaining('has no step "77"')],
    [6, 'there is no view "elsewhere"'],
    [6, 'there is no run "x"'],
  ]);
});

it('a link keeps its run if the studio is opened over the run alone', async () => {
  const [found] = (await new StudioRuns(dir).list()).runs;
  const alone = await new StudioRuns(path.join(dir, found?.path ?? '')).list();
  expect(alone.runs.map(({ id }) => id)).toEqual([run]);
});
