/** Model calls that failed, and the episode did not fail with them: a tool or a framework has caught the error. */
export type SwallowedCall = {
  readonly agentName: string;
  /** What the call threw. */
  readonly message: string;
  /** How many calls of the agent failed so. */
  readonly times: number;
};

/** `told`: the error of the episode, which names the calls that it failed with; undefined if it has not failed. */
export function listSwallowed(
  failures: readonly { readonly agentName: string; readonly message: string }[],
  told: string | undefined,
): readonly SwallowedCall[] {
  const found = new Map<string, SwallowedCall>();
  for (const { agentName, message } of failures) {
    if (told?.includes(message) === true) continue;
    const key = JSON.stringify([agentName, message]);
    found.set(key, { agentName, message, times: (found.get(key)?.times ?? 0) + 1 });
  }
  return [...found.values()];
}
