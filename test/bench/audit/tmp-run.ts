import { measureAudit, allRewards } from './measure-audit.js';
const { summary, audited } = await measureAudit(console.log, allRewards);
console.log(JSON.stringify(summary));
process.exit(0);
