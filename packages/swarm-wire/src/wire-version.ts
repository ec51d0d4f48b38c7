/** The version of the protocol. A client sends it with every request, and a server refuses another version by name. */
export const wireVersion = '1';

export const wireVersionHeader = 'x-ajet-wire';
