/**
 * Frameworks cut a turn of the model into parts or items. Puts those of one turn together again by the turn's id, also where
 * several turns stand side by side in one message. A part without a turn belongs to the one before it, or else to the next.
 */
export function groupByTurn<P>(parts: readonly P[], turnOf: (part: P) => unknown): readonly (readonly P[])[] {
  const groups: { turn: unknown; readonly parts: P[] }[] = [];
  for (const part of parts) {
    const turn = turnOf(part);
    const last = groups.at(-1);
    if (last === undefined || (turn !== undefined && last.turn !== undefined && turn !== last.turn)) {
      groups.push({ turn, parts: [part] });
    } else {
      last.parts.push(part);
      last.turn ??= turn;
    }
  }
  return groups.map((group) => group.parts);
}
