/** The result of a section of the benchmark. Scripts read `summary`. `details` is kept as well. */
export type Measured = {
  readonly summary: unknown;
  readonly details: Readonly<Record<string, unknown>>;
};
