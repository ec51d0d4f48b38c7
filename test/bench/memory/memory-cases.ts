/** A model shape, and the work that a process does with it. */
export type MemoryCase = {
  readonly name: string;
  /** Of config.json. */
  readonly shape: Readonly<Record<string, unknown>>;
  readonly trains: boolean;
  /** With a KL term: the weights are held a second time. */
  readonly kl: boolean;
  /** Groups of one step, and episodes that share a group's prompt. */
  readonly groups: number;
  readonly episodes: number;
  readonly promptTokens: number;
  readonly answerTokens: number;
  /** Tokens that each call really samples; fewer than `answerTokens` where only the room counts. */
  readonly sampledTokens: number;
  readonly packTokens: number;
};
