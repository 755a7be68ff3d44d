// An entity of which only the id is known.
import type { EntityDetailAnswer } from '../../../../../src/http/contract.ts';
import { useRead } from '../ask.ts';
import { knownAs } from '../words.ts';
import { EntityLink } from './entity-link.tsx';

export function EntityName({ id }: { readonly id: string }) {
  const { data } = useRead<EntityDetailAnswer>(`/entities/${id}`);
  return <EntityLink id={id} name={data ? knownAs(data) : `…${id.slice(-5)}`} />;
}
