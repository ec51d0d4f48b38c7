/** What a section of the benchmark found: the keys that scripts read, and what else is kept. */
export type Measured = {
  readonly summary: unknown;
  readonly details: Readonly<Record<string, unknown>>;
};
