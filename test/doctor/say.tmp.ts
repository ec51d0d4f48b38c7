import { examineRun } from '@agentjet/diagnose';
import { readKept, unpack } from '/work/wt/doctor/test/doctor/kept-run.js';
for (const n of process.argv.slice(2)) {
  const { findings } = await examineRun(unpack(readKept(n), `/tmp/doctor/u/${n}`));
  console.log('\n==', n);
  for (const f of findings) console.log(f.asks, f.cause, f.taken.toFixed(2), f.summary);
}
