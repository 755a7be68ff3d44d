// What an entity is called on a screen: with what tells it from others of the name.
import type { Entity } from '../../api/entities.ts';

export function entityName({ canonical_name, organization, email }: Entity): string {
  const more = organization ?? email;
  return more === null ? canonical_name : `${canonical_name} (${more})`;
}
