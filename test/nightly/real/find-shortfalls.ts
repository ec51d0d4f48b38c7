import { isJsonObject } from '@agentjet/core';

/** A figure that a section must reach. It is never a time, because times depend on the load of the machine. */
type Bar = {
  readonly key: string;
  readonly says: string;
  readonly isMet: (figures: { readonly before: number; readonly after: number }) => boolean;
};

const bars: readonly Bar[] = [
  { key: 'calculator', says: '0.60 or less to 0.95', isMet: ({ before, after }) => before <= 0.6 && after >= 0.95 },
  { key: 'json', says: '0.95 at the end', isMet: ({ after }) => after >= 0.95 },
  { key: 'langgraph', says: '0.95 at the end', isMet: ({ after }) => after >= 0.95 },
  {
    key: 'first_run',
    says: 'over 0.2, and 0.2 more',
    isMet: ({ before, after }) => before > 0.2 && after - before >= 0.2,
  },
  { key: 'two_players', says: 'a higher return', isMet: ({ before, after }) => after > before },
];

/** Returns a sentence for each tutorial that is missing or does not meet its bar. */
export function findShortfalls(summary: Readonly<Record<string, unknown>>): readonly string[] {
  return bars.flatMap(({ key, says, isMet }) => {
    const figures = summary[key];
    if (!isJsonObject(figures)) return [`${key} was not measured`];
    const { before, after } = figures;
    if (typeof before !== 'number' || typeof after !== 'number') return [`${key} has no figures`];
    return isMet({ before, after }) ? [] : [`${key} went from ${before} to ${after}; its bar is ${says}`];
  });
}

type Stages = { readonly before: number; readonly after: number };

const choiceBars: readonly {
  readonly kind: string;
  readonly says: string;
  readonly isMet: (stages: Stages) => boolean;
}[] = [
  { kind: 'simple', says: '0.2 more', isMet: ({ before, after }) => after - before >= 0.2 },
  { kind: 'multiple', says: '0.2 more', isMet: ({ before, after }) => after - before >= 0.2 },
  { kind: 'irrelevance', says: 'at most 0.05 less', isMet: ({ before, after }) => after >= before - 0.05 },
];

/** Returns a sentence for each kind of question of BFCL that was not measured or does not meet its bar. */
export function findChoiceShortfalls({ bfcl }: Readonly<Record<string, unknown>>): readonly string[] {
  if (!isJsonObject(bfcl)) return ['bfcl was not measured'];
  if (bfcl['skipped'] !== undefined) return [`bfcl was skipped: ${JSON.stringify(bfcl['skipped'])}`];
  return choiceBars.flatMap(({ kind, says, isMet }) => {
    const stages = bfcl[kind];
    if (!isJsonObject(stages)) return [`${kind} was not measured`];
    const { before, after } = stages;
    if (typeof before !== 'number' || typeof after !== 'number') return [`${kind} has no figures`];
    return isMet({ before, after }) ? [] : [`${kind} went from ${before} to ${after}; its bar is ${says}`];
  });
}
