import { expect, it } from 'vitest';
import { choiceOption, listOption, measureParts, numberOption, textOption, type Measured } from './bench.js';

const parts = ['tasks', 'kills', 'overhead'] as const;

it('reads the options of a benchmark', () => {
  const args = ['--only', 'kills,tasks', '--rounds', '3', '--size', '30M'];
  expect(listOption(args, '--only', parts)).toEqual(['tasks', 'kills']);
  expect(listOption([], '--only', parts)).toEqual(parts);
  expect(choiceOption(args, '--size', ['1M', '30M'])).toBe('30M');
  expect([numberOption(args, '--rounds', 5), numberOption(args, '--steps', 7)]).toEqual([3, 7]);
  expect([textOption(args, '--size'), textOption(args, '--out')]).toEqual(['30M', undefined]);
});

it('refuses a name that an option does not take', () => {
  expect(() => listOption(['--only', 'tasks,kill'], '--only', parts)).toThrow(
    '--only has "kill"; it takes tasks, kills, overhead.',
  );
  expect(() => choiceOption(['--size', '2M'], '--size', ['1M'])).toThrow('--size has "2M"; it takes 1M.');
  expect(() => listOption(['--only', '--json'], '--only', parts)).toThrow('--only needs a value; it has "--json".');
});

it('keeps the parts that were measured before one that fails', async () => {
  const kept: Measured[] = [];
  const measured = async (name: string): Promise<Measured> => ({ summary: { [name]: 1 }, details: { of: name } });
  const measures = {
    tasks: () => measured('tasks'),
    kills: () => measured('kills'),
    overhead: () => Promise.reject(new Error('The engine is gone.')),
  };
  await expect(measureParts(parts, measures, (part) => kept.push(part))).rejects.toThrow('The engine is gone.');
  expect(kept).toEqual([await measured('tasks'), await measured('kills')]);
  const all = { summary: { tasks: 1, kills: 1 }, details: { of: 'kills' } };
  expect(await measureParts(['tasks', 'kills'], measures, undefined)).toEqual(all);
});
