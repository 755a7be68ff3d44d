// Redirects from an event's id to its place in the document.
import { Redirect } from 'wouter';
import { Shown } from '../../../components/states.tsx';
import { useRead } from '../queries.ts';
import { useAddress } from '../space-ref.ts';

export function EventRedirect({ id }: { readonly id: string }) {
  const address = useAddress();
  const query = useRead('GET /api/v1/knowledge/events/:id', { params: { id } });
  return (
    <Shown what="the event" query={query}>
      {(event) => <Redirect to={address(`/artifacts/${event.artifact_id}`, { event: id })} replace />}
    </Shown>
  );
}
