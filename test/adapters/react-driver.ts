import { plainDriver } from '@agentjet/adapter-kit/testing';
import { asModel } from '@agentjet/react';

/** Its model is ChatModel itself. */
export const reactDriver: typeof plainDriver = { ...plainDriver, name: 'react', asModel };
