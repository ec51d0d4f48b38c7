import { toErrorMessage } from '@agentjet/core';
import { type BenchOptions, type BenchResult, listOption, type Measured, type OptionTexts } from '../bench.js';
import { measureBfcl } from './bfcl.js';
import { measureFirstRun } from './first-run.js';
import { readBfclCoder, readGguf, readProbe, readTypedTools } from './kept.js';
import { measureTools } from './tools-in-template.js';
import { measureCalculator, measureJson, measureLanggraph, measureTwoPlayers } from './tutorials.js';

/**
 * Does a real language model learn? The tutorials with SmolLM2-135M-Instruct are trained with one seed each, as a user
 * runs them. `--only calculator,json` measures some sections, and the kept result changes only in these. Minutes are
 * wall time; the load of the machine is kept next to them.
 */

type Section = {
  readonly name: string;
  /** The keys of the result that the section fills. If there are several, the section's summary has all of them. */
  readonly keys: readonly string[];
  /** Returns undefined if the section reads a kept result and there is none. */
  readonly measure: (options: BenchOptions) => Promise<Measured> | Measured | undefined;
};

const sections: readonly Section[] = [
  { name: 'calculator', keys: ['calculator'], measure: measureCalculator },
  { name: 'json', keys: ['json'], measure: measureJson },
  { name: 'bfcl', keys: ['bfcl'], measure: measureBfcl },
  { name: 'bfcl_coder', keys: ['bfcl_coder'], measure: readBfclCoder },
  { name: 'tools_in_template', keys: ['tools_in_template'], measure: measureTools },
  { name: 'gguf', keys: ['gguf'], measure: readGguf },
  { name: 'probe', keys: ['probe'], measure: readProbe },
  { name: 'first_run', keys: ['first_run', 'first_command_refused'], measure: measureFirstRun },
  { name: 'langgraph', keys: ['langgraph'], measure: measureLanggraph },
  { name: 'typed_tools', keys: ['typed_tools'], measure: readTypedTools },
  { name: 'two_players', keys: ['two_players'], measure: measureTwoPlayers },
];

export const optionTexts: OptionTexts = {
  '--only <section>,...': 'measures some sections, such as calculator,json',
  '--set <key>=<value>': 'trains `bfcl` with another setting; may be repeated',
};

export async function run(options: BenchOptions): Promise<BenchResult> {
  const wanted = listOption(
    options.args,
    '--only',
    sections.map(({ name }) => name),
  );
  const summary: Record<string, unknown> = {};
  const sectionDetails: Record<string, unknown> = {};
  const missing: string[] = [];
  for (const { name, keys, measure } of sections.filter((section) => wanted.includes(section.name))) {
    options.report(name);
    const measured = await tryMeasure(measure, options);
    if (measured === undefined || 'failure' in measured) {
      const why = measured === undefined ? 'no result of it is kept' : measured.failure;
      options.report(`${name}: not there: ${why}`);
      if (measured !== undefined) sectionDetails[name] = measured;
      missing.push(...keys);
      continue;
    }
    for (const key of keys) summary[key] = keys.length === 1 ? measured.summary : measured.summary[key];
    sectionDetails[name] = measured.details;
    options.report(`${name}: ${JSON.stringify(measured.summary)}`);
  }
  const isPart = wanted.length < sections.length;
  return { summary, details: { missing, sections: sectionDetails }, isPart };
}

/** A section that fails must not cost the half hour of the others. Its keys are then missing, and the reason is kept. */
async function tryMeasure(
  measure: Section['measure'],
  options: BenchOptions,
): Promise<Measured | { readonly failure: string } | undefined> {
  try {
    return await measure(options);
  } catch (error) {
    process.exitCode = 1;
    return { failure: toErrorMessage(error) };
  }
}
