export { attacks } from './llm/attacks.js';
