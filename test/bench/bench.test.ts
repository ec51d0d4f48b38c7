import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import {
  choiceOption,
  describeOptions,
  listOption,
  measureParts,
  numberOption,
  requireKnownOptions,
  textOption,
  type Measured,
} from './bench.js';

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

it('describes the options of a benchmark, and refuses all others', () => {
  const texts = { '--rounds <n>': 'default 5', '--fresh': 'measures again' };
  expect(describeOptions('tree', texts)).toMatch(
    /^npm run bench -- tree \[options\]\n\n {2}--rounds <n> +default 5\n {2}--fresh +measures again\n {2}--out/,
  );
  requireKnownOptions('tree', ['--rounds', '3', '--fresh', '--out', 'folder'], texts);
  for (const args of [['--round', '3'], ['3'], ['--fresh', '3']])
    expect(() => requireKnownOptions('tree', args, texts)).toThrow(
      /The benchmark tree has no option (--round|3)\.\nnpm run/,
    );
  expect(() => requireKnownOptions('losses', ['--rounds', '3'])).toThrow(
    'The benchmark losses has no option --rounds.',
  );
});

/** The names of the options that the sources of a benchmark read. */
function optionsReadIn(folder: string): readonly string[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
  const reads = /(?:Option\(\s*[\w.]+,\s*|args\.includes\(|args\[at - 1\] === )'(--[\w-]+)'/g;
  return files.flatMap((file) =>
    [...readFileSync(path.join(folder, file), 'utf8').matchAll(reads)].map(([, option = '']) => option),
  );
}

const folders = readdirSync(import.meta.dirname).filter((name) =>
  existsSync(path.join(import.meta.dirname, name, 'bench.ts')),
);

it('knows every option that a benchmark reads', () => {
  const common = ['--out', '--join'];
  for (const name of folders) {
    const folder = path.join(import.meta.dirname, name);
    const source = readFileSync(path.join(folder, 'bench.ts'), 'utf8');
    const [, texts = ''] = /optionTexts: OptionTexts = \{([^]*?)\};/.exec(source) ?? [];
    const missing = optionsReadIn(folder).filter(
      (option) => !common.includes(option) && !new RegExp(`'${option}[ ']`).test(texts),
    );
    expect([name, missing]).toEqual([name, []]);
  }
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
