import { quoteForShell, countOf } from '@agentjet/core';
import type { Examination, Finding } from '@agentjet/diagnose';

/** The lines of an examination for people. */
export function describeExamination(
  { source, steps, findings, unseen, episodesOf }: Examination,
  where: string,
): readonly string[] {
  const from = source === 'run folder' ? '' : `, ${names[source]} alone`;
  const part = episodesOf === undefined ? '' : `, the episodes of ${episodesOf.read} of ${episodesOf.steps} steps`;
  const found = findings.length === 0 ? 'no findings' : countOf(findings.length, 'finding');
  return [
    `${where}: ${found} (${countOf(steps, 'step')}${from}${part})`,
    ...findings.flatMap((finding, at) => ['', ...describeFinding(finding, { at, where })]),
    ...describeUnseen(unseen),
  ];
}

const names: Readonly<Record<Exclude<Examination['source'], 'run folder'>, string>> = {
  'metrics.jsonl': 'metrics.jsonl',
  'trainer_state.json': "TRL's trainer_state.json",
  trl: 'the metrics of TRL',
  verl: 'the metrics of verl',
};

function describeFinding(
  { cause, asks, summary, cure, threshold, episodes }: Finding,
  { at, where }: { readonly at: number; readonly where: string },
): readonly string[] {
  const [first, ...others] = episodes;
  const also = others.length === 0 ? '' : `, and ${others.join(', ')}`;
  return [
    `${at + 1}. ${cause}${asks === 'nothing' ? ' (needs no change)' : ''}: ${summary}`,
    `   what helps: ${cure}`,
    `   limit: ${threshold}`,
    ...(first === undefined ? [] : [`   look at: ajet inspect ${quoteForShell(where)} ${first}${also}`]),
  ];
}

function describeUnseen(unseen: Examination['unseen']): readonly string[] {
  if (unseen.length === 0) return [];
  const byNeeds = new Map<string, string[]>();
  for (const { cause, needs } of unseen) {
    const key = needs.join(' and ');
    byNeeds.set(key, [...(byNeeds.get(key) ?? []), cause]);
  }
  return [
    '',
    ...[...byNeeds].map(
      ([needs, causes]) => `not looked at, because the records have no ${needs}: ${causes.join(', ')}`,
    ),
  ];
}

/** One line for each finding, for the end of a run. */
export function summarizeFindings(findings: readonly Finding[], runDir: string): readonly string[] {
  if (findings.length === 0) return [];
  return [
    ...findings.map(({ cause, summary }) => `found  ${cause}: ${summary}`),
    `why    ajet doctor ${quoteForShell(runDir)}`,
  ];
}
