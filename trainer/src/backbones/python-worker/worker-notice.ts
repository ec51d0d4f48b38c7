/**
 * Turns a line of a worker's log into a notice for the user. Returns undefined for lines that matter only after a
 * failure.
 */
export function toWorkerNotice(line: string): string | undefined {
  const [, name, said] = / ajet_(\w+) (?:INFO|WARNING) (.+)$/.exec(line) ?? [];
  return name === undefined || said === undefined ? undefined : `${name} worker: ${said}`;
}
