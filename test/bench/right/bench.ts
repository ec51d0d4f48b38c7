/**
 * Are training and rewards correct? Each file next to this one measures one section: judges, gradients, model families,
 * tokens, parameters. `--only gradients,answers` measures only these sections, and changes only their keys in the kept
 * result.
 */

import { existsSync } from 'node:fs';
import path from 'node:path';
import { type BenchOptions, type BenchResult, listOption, type OptionTexts } from '../bench.js';

type Measure = (options: BenchOptions) => Promise<unknown>;

/**
 * A file, the function that it exports, and the keys of the result that it fills. With several keys the function
 * returns them all.
 */
const sections = [
  { file: 'answers', measure: 'measureAnswers', keys: ['answers'] },
  { file: 'cheats', measure: 'measureCheats', keys: ['cheats', 'honest'] },
  { file: 'gradients', measure: 'measureGradients', keys: ['gradients'] },
  { file: 'families', measure: 'measureFamilies', keys: ['families'] },
  { file: 'tokenizers', measure: 'measureTokenizers', keys: ['tokenizers'] },
  { file: 'parameters', measure: 'measureParameters', keys: ['parameters'] },
] as const;

export const optionTexts: OptionTexts = { '--only <section>,...': 'measures some sections, such as gradients,answers' };

export async function run(options: BenchOptions): Promise<BenchResult> {
  const wanted = listOption(
    options.args,
    '--only',
    sections.map(({ file }) => file),
  );
  const summary: Record<string, unknown> = {};
  const missing: string[] = [];
  for (const { file, measure, keys } of sections.filter((section) => wanted.includes(section.file))) {
    const source = path.join(import.meta.dirname, `${file}.ts`);
    if (!existsSync(source)) {
      options.report(`${file}: not measured, since there is no test/bench/right/${file}.ts`);
      missing.push(file);
      continue;
    }
    options.report(file);
    const found = await loadMeasure(`./${file}.ts`, measure).then((load) => load(options));
    for (const key of keys) summary[key] = keys.length === 1 ? found : Reflect.get(Object(found), key);
  }
  const isPart = wanted.length < sections.length;
  return { summary, details: missing.length === 0 ? {} : { missing }, isPart };
}

async function loadMeasure(file: string, name: string): Promise<Measure> {
  const found: unknown = Reflect.get((await import(file)) as object, name);
  if (typeof found === 'function') return found as Measure;
  throw new Error(`test/bench/right/${path.basename(file)} does not export ${name}().`);
}
