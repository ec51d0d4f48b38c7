export { plainDriver } from './plain-driver.js';
