export { findCachedModel, listCachedModels, sizeOfSnapshot, type CachedModel } from './cached-model.js';
export { downloadDataset } from './download-dataset.js';
export { downloadModel } from './download-model.js';
export type { DownloadProgress } from './fill-snapshot.js';
export { readHubSettings, type HubSettings } from './hub-settings.js';
export { listFiles } from './list-files.js';
export { parseDatasetName, parseModelName, type ModelName } from './model-name.js';
