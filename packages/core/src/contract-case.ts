/**
 * One statement of a contract that must be true of every implementation. It throws if the statement is false, and needs
 * no test framework.
 */
export type ContractCase = { readonly name: string; readonly run: () => Promise<void> };
