import type { DownloadProgress } from '@agentjet/model-hub';
import { formatBytes, formatSeconds } from '@agentjet/core';

/**
 * An operation that takes less than `quietMs` is not reported. For a longer operation, each tenth of the work is
 * reported, and at least one line appears every `longestSilenceMs`.
 */
const quietMs = 3000;
const longestSilenceMs = 30_000;

type TellOptions = { readonly verb?: string; readonly clock?: () => number };

/** Turns the progress of a download or another long operation into a few lines. */
export function tellDownload(
  model: string,
  onNotice: (message: string) => void,
  { verb = 'downloading', clock = () => performance.now() }: TellOptions = {},
): (progress: DownloadProgress) => void {
  let first: { readonly at: number; readonly bytes: number } | undefined;
  let [toldAt, toldShare] = [0, 0];
  return ({ doneBytes, totalBytes }) => {
    const now = clock();
    if (first === undefined || doneBytes < first.bytes)
      [first, toldAt, toldShare] = [{ at: now, bytes: doneBytes }, now, 0];
    const share = doneBytes / totalBytes;
    const isDue = now - toldAt >= (share - toldShare >= 0.1 ? quietMs : longestSilenceMs);
    if (!isDue || doneBytes === first.bytes) return;
    [toldAt, toldShare] = [now, share];
    const perSecond = ((doneBytes - first.bytes) / (now - first.at)) * 1000;
    const left = formatSeconds((totalBytes - doneBytes) / perSecond);
    onNotice(
      `${verb} ${model}: ${Math.floor(100 * share)}% of ${formatBytes(totalBytes)}, ${formatBytes(perSecond)}/s, ${left} left`,
    );
  };
}
