/**
 * Turns a line of a worker's log into a notice for the user. Returns undefined for lines that matter only after a
 * failure.
 */
export function toWorkerNotice(line: string): string | undefined {
  const [, name, said] = / ajet_(\w+) (?:INFO|WARNING) (.+)$/.exec(line) ?? [];
  return name === undefined || said === undefined ? undefined : `${name} worker: ${said}`;
}

/** Returns a listener for the lines of a worker's log. It reports those that are meant for people. */
export const reportLines =
  (notice: (message: string) => void) =>
  (line: string): void => {
    const message = toWorkerNotice(line);
    if (message !== undefined) notice(message);
  };
