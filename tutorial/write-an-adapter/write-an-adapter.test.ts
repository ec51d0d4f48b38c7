import { readFileSync } from 'node:fs';
import path from 'node:path';
import { checkAdapter, formatReport, openScriptedEpisode } from '@agentjet/adapter-kit';
import { expect, it } from 'vitest';
import { asModel } from './adapter.js';
import { createDriver } from './driver.js';
import { asModel as firstAttempt } from './first-attempt.js';
import { playScene } from './parley.js';

const page = readFileSync(path.join(import.meta.dirname, 'README.md'), 'utf8');
const lastLine = (report: string): string => report.split('\n').at(-1) ?? '';

it('says in words what the first attempt breaks', async () => {
  const report = formatReport(await checkAdapter(createDriver(firstAttempt)));
  expect(report).toMatch(/BROKEN {2}Tools reach the prompt/);
  expect(report).toMatch(/BROKEN {2}temperature reaches the engine/);
  expect(report).toMatch(/BROKEN {2}An aborted call ends in the engine too/);
  expect(report).toMatch(/BROKEN {2}Calls with the same words but different ids are not confused/);
  expect(page).toContain(lastLine(report));
});

it('is green with the finished adapter', async () => {
  const report = await checkAdapter(createDriver(asModel));
  expect(report.isKept, formatReport(report)).toBe(true);
  expect(page).toContain(lastLine(formatReport(report)));
});

it('plays a scene with props, every token of it trained', async () => {
  const episode = openScriptedEpisode({
    replies: ['<tool_call>\n{"name": "bell", "arguments": {"times":  2}}\n</tool_call>', 'It rang twice.'],
  });
  const actor = asModel(episode.tuner, { agentName: 'hamlet' });
  const bell = {
    name: 'bell',
    about: 'A bell.',
    shape: {},
    use: ({ times }: Readonly<Record<string, unknown>>) => `ding `.repeat(Number(times)),
  };
  const scene = await playScene(actor, [{ who: 'guest', words: 'Ring the bell.' }], { props: [bell] });
  expect(scene.map(({ words }) => words)).toEqual(['Ring the bell.', '', 'ding ding ', 'It rang twice.']);
  const { stats } = episode.finish();
  expect(stats).toMatchObject({ calls: 2, samples: 1 });
  expect([stats.forks, stats.foreignMessages]).toEqual([{}, {}]);
  expect(stats.trainedTokens).toBe(stats.generatedTokens);
});
