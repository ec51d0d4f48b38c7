export { generateContentApi } from './generate-content-api.js';
