import { deriveSeed } from '@agentjet/core';
import { readStrings } from '@agentjet/model-client';
import { askForAnswer, mayBeSameAnswer, type Proposal, type Sampling } from './questions.js';
import type { Ask } from './generate-tasks.js';

export type ProposalChecks = {
  /** Requires that the evidence is in the passage word for word. */
  readonly evidence: boolean;
  /** Requires that the model finds the answer in the passage. */
  readonly withPassage: boolean;
  /** Requires that the model does not know the answer without the passage. */
  readonly withoutPassage: boolean;
};

/** Returns why a question cannot be used, or undefined if it can. */
export async function findFault(
  { question, answer, evidence }: Proposal,
  passage: string,
  {
    checks,
    sampling,
    seed,
    ask,
  }: { readonly checks: ProposalChecks; readonly sampling: Sampling; readonly seed: number; readonly ask: Ask },
): Promise<string | undefined> {
  if (checks.evidence && !spaces(passage).includes(spaces(evidence))) return 'its evidence is not in the passage';
  const tried = async (shown: string | null): Promise<boolean> => {
    const asked = askForAnswer(question, shown, {
      ...sampling,
      seed: deriveSeed(seed, shown === null ? 'closed' : 'open'),
    });
    const given = readStrings((await ask(asked)).text, ['answer']);
    return given !== undefined && mayBeSameAnswer(given.answer, answer);
  };
  if (checks.withPassage && !(await tried(passage))) return 'the model cannot answer it from the passage';
  if (checks.withoutPassage && (await tried(null))) return 'the model answers it without the passage';
  return undefined;
}

function spaces(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
