// What was read last stays on screen while it is read again; live events say when that is worthwhile.
import { QueryClient } from '@tanstack/react-query';
import { ApiError } from './client.ts';

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      refetchOnWindowFocus: true,
      // The live stream notices when the server is back, and everything is read again then.
      retry: (count, error) => count < 1 && error instanceof ApiError && error.kind === 'failed',
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});
