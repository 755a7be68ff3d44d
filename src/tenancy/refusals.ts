// What every store of tenants answers when it cannot do what was asked.
import { CoreError } from '../core/index.ts';
import { shownName } from './names.ts';

/** `name` is that of the one that has it. */
export const takenName = (what: 'organization' | 'deployment', name: string): CoreError =>
  new CoreError(
    'CONFLICT',
    `There is already ${what === 'organization' ? 'an organization' : 'a deployment of this organization'} ` +
      `named ${shownName(name)}, whatever the case of its letters. Choose another name.`,
  );

export const noOrganization = (): CoreError =>
  new CoreError('NOT_FOUND', 'The organization was removed meanwhile.');

export const underWay = (what: 'organization' | 'deployment'): CoreError =>
  new CoreError(
    'CONFLICT',
    `The ${what} has executions under way ("headworks executions list"). Stop them or wait, then remove it.`,
  );
