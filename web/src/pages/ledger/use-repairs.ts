// Latest repairs, newest first.
import { useQuery } from '@tanstack/react-query';
import type { JobAnswer, JobsAnswer } from '../../../../src/http/contract.ts';
import { get } from '../../api/client.ts';

export function useRepairs(): readonly JobAnswer[] {
  const { data } = useQuery({
    queryKey: ['jobs', 'ledger.repair'],
    queryFn: ({ signal }) => get<JobsAnswer>('/api/v1/jobs', { name: 'ledger.repair', limit: 50 }, signal),
    refetchInterval: 2_000,
  });
  return data?.jobs ?? [];
}
