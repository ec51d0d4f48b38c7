/**
 * One part of a reply (thinking, answer, tool call), as a function of the text that is not decided yet. It gives the
 * builder the text that is certain, and returns the rest. If it returns `next`, the following section continues with
 * the rest. Decisions depend only on the text, never on how it was split, so any split gives the same reply.
 *
 * `isAwaited` returns whether a piece that was added to `rest` can decide anything. It is called for each piece in
 * order until one can, so that undecided text is not read again with each piece.
 */
export type ReplySection = (
  text: string,
  isLast: boolean,
) => { readonly rest: string; readonly next?: ReplySection; readonly isAwaited?: (added: string) => boolean };
