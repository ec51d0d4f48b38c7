import { makeVisible } from '@agentjet/core/text';
import type { OutcomeInWords, EpisodeRow } from '@agentjet/run-folder';
import type { ShownOutcome } from '../outcomes/read-outcomes.js';
import type { Palette } from './palette.js';
import { wrapText } from './wrap-text.js';

export type OutcomeLayout = {
  readonly palette: Palette;
  /** Columns of the terminal. Infinity: lines are not wrapped. */
  readonly width: number;
};

const labels = {
  question: 'question',
  expected: 'expected',
  answered: 'answered',
  first_tool_error: 'tool',
  first_swallowed_error: 'call',
  reason: 'reason',
  error: 'error',
} as const satisfies Readonly<Record<keyof OutcomeInWords, string>>;
const labelWidth = 2 + Math.max(...Object.values(labels).map(({ length }) => length)) + 2;
/** A narrower terminal wraps its own lines. */
const leastWidth = 20;

/** Formats an episode for people: a line with its figures, then what it was asked and what came of it. */
export function formatOutcome({ row, outcome }: ShownOutcome, layout: OutcomeLayout): readonly string[] {
  const { palette } = layout;
  const title = palette.tone('title', makeVisible(row.episode_id));
  return [`${title}  ${describeRow(row, palette)}`, ...formatFields(outcome, layout)];
}

/** Formats the fields of an outcome that are known, each with its label. */
function formatFields(outcome: OutcomeInWords, layout: OutcomeLayout): readonly string[] {
  return (Object.keys(labels) as (keyof OutcomeInWords)[]).flatMap((name) => {
    const [label, text] = [labels[name], outcome[name]];
    return text === undefined ? [] : formatField(label, text, layout);
  });
}

export function formatField(label: string, text: string, { palette, width }: OutcomeLayout): readonly string[] {
  const lines = wrapText(text.trim(), Math.max(leastWidth, width - labelWidth));
  return lines.map((line, at) => {
    const name = palette.tone('faint', `  ${(at === 0 ? label : '').padEnd(labelWidth - 2)}`);
    return `${name}${line}`.trimEnd();
  });
}

function describeRow({ step, phase, status, is_success: isSuccess, ...row }: EpisodeRow, palette: Palette): string {
  const outcome = status === 'failed' ? `failed (${row.error_code ?? 'error'})` : isSuccess ? 'success' : 'no success';
  const facts = [
    `step ${step}${phase === 'evaluation' ? ' evaluation' : ''}`,
    ...(row.reward === null ? [] : [`reward ${row.reward.toFixed(3)}`]),
    isSuccess ? outcome : palette.tone('warning', makeVisible(outcome)),
    `${row.seconds.toFixed(1)} s`,
    `${row.generated_tokens} tokens`,
    ...(row.kind === undefined ? [] : [`kind ${makeVisible(row.kind)}`]),
    ...Object.entries(row.parts ?? {}).map(([name, value]) => `${makeVisible(name)} ${value.toFixed(3)}`),
  ];
  return facts.join('  ');
}
