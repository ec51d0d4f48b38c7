/**
 * Groups the parts of messages by the id of their turn. Frameworks split a turn of the model into parts or items, and
 * one message may hold several turns. Parts without an id come from another model, and are never grouped with parts
 * that have one.
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
