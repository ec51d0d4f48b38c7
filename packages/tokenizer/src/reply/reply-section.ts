/**
 * One part of a reply (thinking, answer, tool call), as a function over the text that is not yet decided. It reports
 * what it is certain of to the builder and gives the undecided rest back; `next` takes over from there. Decisions
 * depend on the text alone, never on where it was cut, so any chunking gives the same reply.
 *
 * `isAwaited`: whether a piece that was added to `rest` can decide anything; asked for each, in order, until one can. So
 * undecided text is not read again with each piece.
 */
export type ReplySection = (
  text: string,
  isLast: boolean,
) => { readonly rest: string; readonly next?: ReplySection; readonly isAwaited?: (added: string) => boolean };
