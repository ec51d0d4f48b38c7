export { tableReaderCases } from './testing/table-reader-cases.js';
