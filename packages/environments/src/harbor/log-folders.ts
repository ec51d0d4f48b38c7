/** The folders of logs that every machine of a task has, writable for all users. */
export const logFolders: readonly string[] = ['/logs/agent', '/logs/verifier', '/logs/artifacts'];
