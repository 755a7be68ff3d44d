// What an entity is called on a screen: with what tells it from others of the name.
import type { EntityAnswer } from '../../app/api-answers.ts';

export function entityName({ canonical_name, organization, email }: EntityAnswer): string {
  const more = organization ?? email;
  return more === null ? canonical_name : `${canonical_name} (${more})`;
}
