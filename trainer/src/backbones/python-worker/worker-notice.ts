/** What a line of a worker's log says to the user; undefined for what matters only after a failure. */
export function toWorkerNotice(line: string): string | undefined {
  const [, name, said] = / ajet_(\w+) (?:INFO|WARNING) (.+)$/.exec(line) ?? [];
  return name === undefined || said === undefined ? undefined : `${name} worker: ${said}`;
}
