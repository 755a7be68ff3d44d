// Link to an entity of which only the id is known.
import { useRead } from '../queries.ts';
import { knownAs } from '../labels.ts';
import { EntityLink } from './entity-link.tsx';

export function EntityNameLink({ id }: { readonly id: string }) {
  const { data } = useRead('GET /api/v1/knowledge/entities/:id', { params: { id } });
  return <EntityLink id={id} name={data ? knownAs(data) : `…${id.slice(-5)}`} />;
}
