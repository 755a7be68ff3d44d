// Keeps data on screen while it is refetched; live events trigger refetching.
import { QueryClient } from '@tanstack/react-query';
import { ApiError } from './client.ts';

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      refetchOnWindowFocus: true,
      // The live stream detects when the server is back and refetches everything.
      retry: (count, error) => count < 1 && error instanceof ApiError && error.kind === 'failed',
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});
