/** `npx tsx tutorial/write-an-adapter/check.ts [first-attempt | adapter]` prints which promises an adapter keeps. */
import { checkAdapter, formatReport } from '@agentjet/adapter-kit';
import { createDriver } from './driver.js';

const name = process.argv[2] ?? 'adapter';
if (name !== 'adapter' && name !== 'first-attempt')
  throw new Error(`There is no ${name}.ts here. Check first-attempt or adapter.`);
const { asModel } = name === 'adapter' ? await import('./adapter.js') : await import('./first-attempt.js');
const report = await checkAdapter(createDriver(asModel));
console.log(formatReport(report));
process.exitCode = report.isKept ? 0 : 1;
