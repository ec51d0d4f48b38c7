export { attacks } from './testing/attacks.js';
