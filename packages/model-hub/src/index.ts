export { findCachedModel, listCachedModels, sizeOfSnapshot, type CachedModel } from './cached-model.js';
export { downloadModel, type DownloadOptions, type DownloadProgress } from './download-model.js';
export { readHubSettings, type HubSettings } from './hub-settings.js';
export { parseModelName, type ModelName } from './model-name.js';
