import type { Branch } from '@agentjet/context-tracker';
import type { InspectedEpisode } from '../episode/read-episode.js';

/** The ids and texts of a branch's tokens. A character belongs to the token that completes it. */
export type BranchTokens = { readonly ids: readonly number[]; readonly texts: readonly string[] };

export function readBranchTokens({ createDecoder }: InspectedEpisode, branch: Branch): BranchTokens {
  const ids = [...branch.ids];
  if (createDecoder === undefined) return { ids, texts: ids.map((id) => `‹${id}›`) };
  const decoder = createDecoder();
  const texts = ids.map((id) => decoder.push(id));
  const rest = decoder.flush();
  return { ids, texts: rest === '' ? texts : [...texts.slice(0, -1), `${texts.at(-1)}${rest}`] };
}

/** Chooses the largest child as the continuation. The others are shown before it, as side branches. */
export function splitChildren({ children }: Branch): {
  readonly side: readonly Branch[];
  readonly main: Branch | undefined;
} {
  const main = children.reduce<Branch | undefined>(
    (best, child) => (best === undefined || child.size > best.size ? child : best),
    undefined,
  );
  return { side: children.filter((child) => child !== main), main };
}
