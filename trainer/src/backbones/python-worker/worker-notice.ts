/**
 * Turns a line of a worker's log into a notice for the user. Returns undefined for lines that matter only after a
 * failure.
 */
export function toWorkerNotice(line: string): string | undefined {
  const [, name, said] = / ajet_(\w+) (?:INFO|WARNING) (.+)$/.exec(line) ?? [];
  return name === undefined || said === undefined ? undefined : `${name} worker: ${said}`;
}

export type LastWords = { readonly code: string; readonly message: string };

/** Reads the line of a worker's log in which one of several processes says why it ends. */
export function toLastWords(line: string): LastWords | undefined {
  const [, code, message] = / ajet_\w+ ERROR rank \d+ ended \((\w+)\): (.+)$/.exec(line) ?? [];
  return code === undefined || message === undefined ? undefined : { code, message };
}

/** Returns a listener for the lines of a worker's log. It reports those that are meant for people. */
export const reportLines =
  (notice: (message: string) => void) =>
  (line: string): void => {
    const message = toWorkerNotice(line);
    if (message !== undefined) notice(message);
  };
