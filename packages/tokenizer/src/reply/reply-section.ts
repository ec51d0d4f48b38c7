/**
 * One part of a reply (thinking, answer, tool call), as a function over the text that is not yet decided. It reports
 * what it is certain of to the builder and gives the undecided rest back; `next` takes over from there. Decisions
 * depend on the text alone, never on where it was cut, so any chunking gives the same reply.
 */
export type ReplySection = (text: string, isLast: boolean) => { readonly rest: string; readonly next?: ReplySection };
