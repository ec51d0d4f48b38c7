import type { TurnDescription } from '../contract.js';
import type { EpisodeRow } from './episode-tree.js';

/** Returns the recorded turns if they fit the rows, else turns derived from the rows' masks. */
export function toTurns(
  rows: readonly EpisodeRow[],
  recorded: readonly TurnDescription[] | undefined,
): { readonly turns: readonly TurnDescription[]; readonly areTurnsRecorded: boolean } {
  if (recorded !== undefined && fits(rows, recorded)) return { turns: recorded, areTurnsRecorded: true };
  return { turns: rows.flatMap(readTurns).map((turn, index) => ({ ...turn, index })), areTurnsRecorded: false };
}

/** Returns whether the turns cover every trained token of the rows and no other token. */
function fits(rows: readonly EpisodeRow[], turns: readonly TurnDescription[]): boolean {
  const covered = rows.map(() => 0);
  for (const [index, turn] of turns.entries()) {
    const { sample, promptTokens, generatedTokens } = turn;
    if (turn.index !== index) return false;
    if (sample === null || turn.isTrained === false) continue;
    const span = rows[sample]?.lossMask.slice(promptTokens, promptTokens + generatedTokens) ?? [];
    if (span.length !== generatedTokens || span.includes(0)) return false;
    covered[sample] = (covered[sample] ?? 0) + generatedTokens;
  }
  return rows.every(({ lossMask }, row) => lossMask.reduce((sum, mask) => sum + mask, 0) === covered[row]);
}

/** Makes one turn for each run of trained tokens. The origin of its prompt is no longer known. */
function readTurns(
  { agentName, targetTag, lossMask, policyVersions }: EpisodeRow,
  sample: number,
): readonly TurnDescription[] {
  const turns: TurnDescription[] = [];
  for (let start = lossMask.indexOf(1); start !== -1; ) {
    const end = findEnd(lossMask, start);
    const unknown = {
      turnId: '',
      index: 0,
      reusedTokens: start,
      isTruncated: false,
      fork: null,
      splices: [],
      foreignMessages: {},
      parts: [],
    };
    turns.push({
      ...unknown,
      agentName,
      targetTag,
      promptTokens: start,
      generatedTokens: end - start,
      policyVersion: policyVersions[start] ?? -1,
      sample,
    });
    start = lossMask.indexOf(1, end);
  }
  return turns;
}

function findEnd(lossMask: readonly number[], start: number): number {
  const end = lossMask.indexOf(0, start);
  return end === -1 ? lossMask.length : end;
}
