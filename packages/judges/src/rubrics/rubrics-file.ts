import { ConfigError } from '@agentjet/core';

/** A quality that answers are scored by. */
export type Criterion = {
  /** Lower-case letters, digits and _. It is also the name of the figure, `judge/<name>`. */
  readonly name: string;
  /** The weight, which is not negative. Only ratios count. */
  readonly weight: number;
  /** A description of good and bad answers, for the model that scores. */
  readonly text: string;
};

const pattern = /^[a-z][a-z0-9_]*$/;

/**
 * Formats rubrics as Markdown that a person can edit: a section for each criterion, with its weight in the first line.
 */
export function formatRubrics(criteria: readonly Criterion[], note: string): string {
  const sections = criteria.map(
    ({ name, weight, text }) => `## ${name}\n\nweight: ${Math.round(weight * 1000) / 1000}\n\n${text.trim()}\n`,
  );
  return [`# Rubrics\n\n${note}\n`, ...sections].join('\n');
}

/** Throws ConfigError `bad_rubrics` with file and line. */
export function parseRubrics(markdown: string, file: string): readonly Criterion[] {
  const lines = markdown.split(/\r?\n/);
  const starts = lines.flatMap((line, at) => (line.startsWith('## ') ? [at] : []));
  const criteria = starts.map((start, index) =>
    parseSection(lines.slice(start, starts[index + 1]), { file, line: start + 1 }),
  );
  const repeated = criteria.find(({ name }, at) => criteria.findIndex((other) => other.name === name) !== at);
  if (repeated !== undefined) throw badRubrics(file, 1, `two criteria have the name "${repeated.name}"`);
  if (criteria.length === 0)
    throw badRubrics(file, 1, 'there is no criterion; write "## name", "weight: 1" and what is good');
  if (criteria.every(({ weight }) => weight === 0)) throw badRubrics(file, 1, 'every weight is 0');
  return criteria;
}

function parseSection(lines: readonly string[], place: { readonly file: string; readonly line: number }): Criterion {
  const { file, line } = place;
  const name = lines[0]?.slice(3).trim() ?? '';
  if (!pattern.test(name)) throw badRubrics(file, line, `"${name}" is not a name of small letters, digits and _`);
  const at = lines.findIndex((each) => /^weight\s*:/i.test(each));
  const weight = Number(lines[at]?.split(':')[1]?.trim() || 'none');
  if (at < 0 || !Number.isFinite(weight) || weight < 0)
    throw badRubrics(
      file,
      line + Math.max(0, at),
      `the weight of "${name}" is ${lines[at] ?? 'missing'}; write "weight: 0.5"`,
    );
  const text = [...lines.slice(1, at), ...lines.slice(at + 1)].join('\n').trim();
  if (text === '') throw badRubrics(file, line, `"${name}" does not say what is good`);
  return { name, weight, text };
}

function badRubrics(file: string, line: number, what: string): ConfigError {
  return new ConfigError('bad_rubrics', `${file}:${line}: ${what}.`);
}

/** Derives the name of a criterion from the words of a model. */
export function toCriterionName(words: string): string {
  const name = words
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^[_0-9]+|_+$/g, '')
    .slice(0, 40);
  return name === '' ? 'criterion' : name;
}
