/**
 * The largest request that one call of a model may make. An agent that works stays far below them; without them a broken
 * agent could keep the one event loop that all episodes share busy for seconds.
 */
export const requestLimits = {
  messages: 4_096,
  tools: 1_024,
  /** Nested lists and objects, of a request's body or of a tool's parameters. */
  depth: 128,
} as const;
