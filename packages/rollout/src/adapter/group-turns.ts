/**
 * Frameworks cut a turn of the model into parts or items. Puts those of one turn together again by the turn's id, also if
 * one message has several turns. Parts without a turn are another model's, and never join one that has a turn.
 */
export function groupByTurn<P>(parts: readonly P[], turnOf: (part: P) => unknown): readonly (readonly P[])[] {
  const groups: { readonly turn: unknown; readonly parts: P[] }[] = [];
  for (const part of parts) {
    const turn = turnOf(part);
    const last = groups.at(-1);
    if (last !== undefined && last.turn === turn) last.parts.push(part);
    else groups.push({ turn, parts: [part] });
  }
  return groups.map((group) => group.parts);
}
