export { makeVisible, toOneLine } from './make-visible.js';
