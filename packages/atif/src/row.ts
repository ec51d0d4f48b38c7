import { isJsonObject, type JsonObject } from '@agentjet/core';
import type { AtifDocument, AtifStep } from './document.js';

/** One row of tokens that was trained, with one value for each token. */
export type AtifRow = {
  readonly ids: readonly number[];
  readonly loss_mask: readonly number[];
  readonly logprobs: readonly number[];
  readonly advantages: readonly number[];
  readonly policy_versions: readonly number[];
};

const perToken = ['loss_mask', 'advantages', 'policy_versions', 'logprobs'] as const;

/**
 * Returns what the steps of a document do not say about its row. Ids and logprobs are in the metrics of the steps. They
 * are repeated here only if the steps do not say them all.
 */
export function toRowExtra(row: AtifRow, steps: readonly AtifStep[]): JsonObject {
  const said = readSteps(steps);
  const isSaid = isSame(said.ids, row.ids) && isSame(said.logprobs, row.logprobs);
  return {
    ...(isSaid ? {} : { ids: row.ids, logprobs: row.logprobs }),
    loss_mask: row.loss_mask,
    advantages: row.advantages,
    policy_versions: row.policy_versions,
  };
}

/**
 * Returns the row of a document, exactly as it was before it was written. Undefined if the document has no token ids.
 * If another program wrote the document, all completions that are not copied context are trained, with advantages of 0.
 */
export function toTokenRow({ steps, extra }: AtifDocument): AtifRow | undefined {
  const said = readSteps(steps);
  const ours = extra?.['agentjet'];
  const kept: JsonObject = isJsonObject(ours) && isJsonObject(ours['row']) ? ours['row'] : {};
  const ids = numbersOf(kept['ids']) ?? said.ids;
  if (ids.length === 0) return undefined;
  const fields = perToken.map((name) => {
    const values = numbersOf(kept[name]);
    const fallback = name === 'logprobs' ? said.logprobs : name === 'loss_mask' ? said.mask : ids.map(() => 0);
    return [name, values?.length === ids.length ? values : fallback] as const;
  });
  return { ids, ...(Object.fromEntries(fields) as Omit<AtifRow, 'ids'>) };
}

type SaidTokens = {
  readonly ids: readonly number[];
  readonly logprobs: readonly number[];
  readonly mask: readonly number[];
};

/** Joins the tokens of the calls. The longest prompt and its answer are the row; each call has its place in it. */
function readSteps(steps: readonly AtifStep[]): SaidTokens {
  const calls = steps.flatMap(({ is_copied_context: isCopied, metrics }) => {
    const { prompt_token_ids: prompt, completion_token_ids: completion, logprobs } = metrics ?? {};
    return isCopied === true || prompt === undefined || completion === undefined
      ? []
      : [{ prompt, completion, logprobs }];
  });
  const last = calls.reduce<(typeof calls)[number] | undefined>(
    (longest, call) => (call.prompt.length >= (longest?.prompt.length ?? 0) ? call : longest),
    undefined,
  );
  const ids = last === undefined ? [] : [...last.prompt, ...last.completion];
  const [values, mask] = [ids.map(() => 0), ids.map(() => 0)];
  for (const { prompt, completion, logprobs = [] } of calls) {
    values.splice(prompt.length, completion.length, ...completion.map((_id, at) => logprobs[at] ?? 0));
    mask.splice(prompt.length, completion.length, ...completion.map(() => 1));
  }
  return { ids, logprobs: values, mask };
}

function numbersOf(value: unknown): readonly number[] | undefined {
  return Array.isArray(value) && value.every((each) => typeof each === 'number') ? (value as number[]) : undefined;
}

function isSame(left: readonly number[], right: readonly number[]): boolean {
  return left.length === right.length && left.every((value, at) => Object.is(value, right[at]));
}
