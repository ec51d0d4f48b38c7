/**
 * Frameworks cut a turn of the model into parts or items. This function joins the parts of each turn by the turn's id,
 * even if one message holds several turns. Parts without a turn come from another model and never join a part that has
 * one.
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
