/** One statement of a contract, that every implementation must meet. Needs no test framework: it throws if it is broken. */
export type ContractCase = { readonly name: string; readonly run: () => Promise<void> };
