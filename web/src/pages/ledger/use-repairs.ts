// Latest repairs, newest first.
import type { Job } from '../../../../src/api/jobs.ts';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';

export function useRepairs(): readonly Job[] {
  const { data } = useQuery({
    queryKey: ['jobs', 'ledger.repair'],
    queryFn: ({ signal }) => api('GET /api/v1/jobs', { query: { name: 'ledger.repair', limit: 50 }, signal }),
    refetchInterval: 2_000,
  });
  return data?.jobs ?? [];
}
