// Redirects from an event's id to its place in the document.
import { Redirect } from 'wouter';
import type { KnowledgeEventAnswer } from '../../../../../src/http/contract.ts';
import { Shown } from '../../../parts/states.tsx';
import { useRead } from '../queries.ts';
import { useAddress } from '../place.ts';

export function EventRedirect({ id }: { readonly id: string }) {
  const address = useAddress();
  const query = useRead<KnowledgeEventAnswer>(`/events/${id}`);
  return (
    <Shown what="the event" query={query}>
      {(event) => <Redirect to={address(`/artifacts/${event.artifact_uid}`, { event: id })} replace />}
    </Shown>
  );
}
