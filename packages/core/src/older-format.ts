/** The last commit that reads what versions before the present formats wrote. */
const lastReader = 'e2a79bc1';

/** Why a file or a folder of an older version is refused, with the repair. */
export const tellOlderFormat = (what: string): string =>
  `${what} was written in an older format, which this version does not read. Read it with AgentJet at commit ${lastReader}, or begin a new run.`;
