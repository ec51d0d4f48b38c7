import { StudioRuns } from '../runs/studio-runs.js';
import { checkLinks, type CheckedLink } from './check-links.js';

/** All links of a report, and the links that lead nowhere. */
export type CheckedReport = { readonly links: readonly CheckedLink[]; readonly broken: readonly CheckedLink[] };

/** Checks the links of a report in Markdown against the runs below a folder. */
export async function checkLinksOf(markdown: string, folder: string): Promise<CheckedReport> {
  const links = await checkLinks(new StudioRuns(folder), markdown);
  return { links, broken: links.filter(({ problem }) => problem !== undefined) };
}
