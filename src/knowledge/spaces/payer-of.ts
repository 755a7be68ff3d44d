// Who pays for what a model does for a space.
import type { Space } from '../ports.ts';

/** `org:ID`; `admin` for a space of the house. */
export const billingCaller = ({ organizationId }: Pick<Space, 'organizationId'>): string =>
  organizationId === null ? 'admin' : `org:${organizationId}`;
