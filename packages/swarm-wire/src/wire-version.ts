/** The version of the protocol. A client sends it with every request; a server refuses another one by name. */
export const wireVersion = '1';

export const wireVersionHeader = 'x-ajet-wire';
