/** Shows the runs below a folder in a browser. */

export { openStudio, type OpenedStudio, type StudioOptions } from './server/open-studio.js';
export { checkLinksOf, type CheckedReport } from './links/check-links-of.js';
export { findStudios, type KnownStudio } from './server/token-file.js';
export { exportRunPage, type ExportedRun, type ExportOptions } from './export/export-run.js';
