/** Work that takes less time is not reported. Longer work gets a line every few seconds. */
const quietMs = 2000;

/** Turns the progress of long work into a few lines. */
export function tellProgress(
  onNotice: (message: string) => void,
  clock: () => number = () => performance.now(),
): (what: string, share: number) => void {
  let toldAt = clock();
  let told = '';
  return (what, share) => {
    const now = clock();
    if (now - toldAt < quietMs || share >= 1) return;
    const line = `${what}: ${Math.floor(100 * share)}%`;
    if (line === told) return;
    [toldAt, told] = [now, line];
    onNotice(line);
  };
}
