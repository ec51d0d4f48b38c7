export { plainDriver } from './testing/plain-driver.js';
