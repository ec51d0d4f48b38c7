/** Shows the runs below a folder in a browser. */

export { openStudio, type OpenedStudio, type StudioOptions } from './server/open-studio.js';
export { exportRunPage, type ExportedRun, type ExportOptions } from './export/export-run.js';
