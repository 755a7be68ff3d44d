// Latest repairs, newest first.
import type { Job, Jobs } from '../../../../src/api/jobs.ts';
import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client.ts';

export function useRepairs(): readonly Job[] {
  const { data } = useQuery({
    queryKey: ['jobs', 'ledger.repair'],
    queryFn: ({ signal }) => get<Jobs>('/api/v1/jobs', { name: 'ledger.repair', limit: 50 }, signal),
    refetchInterval: 2_000,
  });
  return data?.jobs ?? [];
}
