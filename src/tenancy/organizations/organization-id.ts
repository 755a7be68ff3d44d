// Ids of organizations: `org_` and 16 letters and digits, 95 bits of chance.
import type { IdSource } from '../../core/index.ts';

const start = 'org_';
const length = 16;
const shape = /^org_[0-9A-Za-z]{16}$/;

export const isOrganizationId = (text: string): boolean => shape.test(text);

export function newOrganizationId(ids: IdSource): string {
  let characters = '';
  while (characters.length < length) characters += ids.token(24).replace(/[-_]/g, '');
  return start + characters.slice(0, length);
}
